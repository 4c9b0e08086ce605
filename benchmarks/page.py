"""docs/performance.md, written from the results alone."""

from pathlib import Path

from kernelstream import ALGORITHMS

from . import river_rows, serving, transforms, waits
from .cases import BUDGET
from .far import far, grown
from .floors import words as floor_words
from .growth import bytes_words
from .measure import DISTURBED, PATIENCE, Plan, over, range_of
from .plots import write_plots
from .results import Results
from .tables import DASH, rate, ratio, size, table, with_range
from .targets import at_base, microseconds, verdicts


def write_page(results: Results, path: Path) -> None:
    """The page at `path`, its plots in a folder beside it."""
    pictures = write_plots(results, path.with_suffix(""))
    shown = {name: f"![{caption}]({path.stem}/{name})\n\n{caption}" for name, caption in pictures}
    sections = [
        _opening(results),
        _judged(results),
        _learners(results, shown),
        _floors(),
        _data(results),
        grown(results, shown),
        far(results),
        waits.section(results.records("auto-waits")),
        river_rows.section(results.records("river")),
        transforms.section(results),
        serving.section(results.records("serve")),
        _two_cores(results),
        _small_things(results),
        _disturbed(results),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(section for section in sections if section) + "\n")


def _opening(results: Results) -> str:
    return f"""# How fast it is

Written by `make bench`; `python -m benchmarks PART ...` measures a part of it anew.{_days(results)}
Machine: {results.machine}.{_elsewhere(results)}

- A **floor** is the arithmetic that a learner's algorithm cannot avoid on the very rows that it was given, timed bare
  in the same run: BLAS products and plain compiled loops over arrays that are ready, for as many kernel rows, solves
  and axpys as that run had.
- What is compared is timed in turns, {Plan().turns} of them; a ratio is the median over the turns, with the least and
  the largest in brackets. Every turn begins and ends with the floor: where its two times differ by more than
  {100 * DISTURBED:.0f} %, the turn is rejected and repeated, up to {PATIENCE} times as often as asked for. A figure
  that could not be had undisturbed is marked.
- One thread and float32 unless said otherwise. One-thread figures are CPU seconds of the process; two threads,
  processes and commands are timed by the clock on the wall. Making the model is not timed, validating the rows is.
  A copy of the model that nobody uses is made before every run, the floor's too: both find the caches as it left them.
- The base point of a learner: the papers' sizes ({BUDGET} points, or what the table says) on cod-rna, scaled to
  [-1, 1], in a random order. Sweeps change one thing at a time."""


def _days(results: Results) -> str:
    """Which parts were measured when: what changed since is in no figure of theirs."""
    parts = {day: [name for name, one in results.days.items() if one == day] for day in sorted(results.days.values())}
    first = min(parts, default=None)
    later = "".join(f"; {', '.join(f'`{n}`' for n in names)} on {day}" for day, names in parts.items() if day != first)
    return f"\nMeasured on {first}{later}. What changed since then is in no figure of it." if parts else ""


def _elsewhere(results: Results) -> str:
    """Which parts were measured on another machine."""
    machines = dict.fromkeys(results.elsewhere.values())
    parts = {one: [name for name, where in results.elsewhere.items() if where == one] for one in machines}
    return "".join(
        f"\nMeasured elsewhere, {', '.join(f'`{n}`' for n in names)}: {one}." for one, names in parts.items()
    )


def _judged(results: Results) -> str:
    found = verdicts(results)
    holds = {True: "yes", False: "**no**", None: "not measured"}
    rows = [[v.target, v.measured, holds[v.holds]] for v in found]
    missed = [f"- {v.target}:\n" + "\n".join(f"  - {miss}" for miss in v.misses) for v in found if v.misses]
    counted = f"{sum(v.holds is True for v in found)} of {sum(v.holds is not None for v in found)} targets hold."
    text = f"## What is wanted, and what holds\n\n{counted}\n\n{table(('target', 'measured', 'holds'), rows)}"
    if not missed:
        return text
    return f"{text}\n\nWhat does not hold, by how much, and where the time goes:\n\n" + "\n".join(missed)


def _learners(results: Results, shown: dict[str, str]) -> str:
    rows = []
    for record in at_base(results):
        name = record["learner"]
        double, compiled = results.one("precision", learner=name), results.one("compiling", learner=name)
        rows.append(
            [
                name,
                size(record),
                rate(record),
                ratio(record, "ours", "floor"),
                ratio(results.one("wide", learner=name), "ours", "floor"),
                ratio(double, "ours", "floor"),
                ratio(double, "ours", "float32"),
                ratio(record, "sklearn", "ours"),
                ratio(record, "river", "ours"),
                bytes_words(record["bytes"]),
                f"{compiled['cold']:.1f} s" if compiled else DASH,
            ]
        )
    if not rows:
        return ""
    head = ("learner", "size", "rows/s", "over its floor", "at d = 128", "float64 over its floor")
    head += ("float64 over float32", "times scikit-learn", "times River", "model", "first compilation")
    nearest = sorted({record["names"]["sklearn"] for record in at_base(results)})
    return "\n\n".join(
        [
            "## Every learner",
            table(head, rows),
            "A * marks a disturbed figure. scikit-learn's nearest are given float32 rows in chunks of 256:\n"
            f"{'; '.join(nearest)}.\n"
            "River's are an RBFSampler of as many features before a Perceptron, PAClassifier or LogisticRegression,\n"
            "one row at a time. They are other algorithms: the figure is what a user of them would spend on the same\n"
            "rows. SVC learns from no stream.",
            *(shown[name] for name in ("floors.png", "peers.png") if name in shown),
        ]
    )


def _floors() -> str:
    rows = [f"| {name} | {floor_words(name)} |" for name in ALGORITHMS]
    return "\n\n".join(
        [
            "## What the floors count",
            "\n".join(["| learner | counted |", "| --- | --- |", *rows]),
            "A kernel row over dense rows is the faster of two: a loop over the differences, and products by BLAS in\n"
            "chunks of rows, which a dictionary that changes from row to row could use only with corrections. A move\n"
            "is a row that changes the model; a removal is one that makes a point leave. Not counted: validating\n"
            "rows, rescaling all coefficients, storing a point. The code: `benchmarks/floors.py` and what it imports.",
        ]
    )


def _data(results: Results) -> str:
    texts = []
    for part, title in (("covtype", "covtype, 7 classes, d = 54"), ("mnist", "mnist, 10 classes, d = 784")):
        rows = [
            [r["learner"], size(r), rate(r), ratio(r, "ours", "floor"), ratio(r, "ours", "binary")]
            for r in results.records(part)
        ]
        if rows:
            head = ("learner", "size", "rows/s", "over its floor", "over one class against the rest")
            texts += [f"### {title}", table(head, rows)]
    rows = []
    for r in results.records("sparse"):
        present = f"{r['data']}, {r['present']:.0f} of {r['d']}"
        rows.append([r["learner"], present, rate(r), ratio(r, "ours", "floor"), ratio(r, "dense", "ours")])
    if rows:
        head = ("learner", "features present", "rows/s", "over its floor", "dense rows take")
        texts += ["### Sparse rows", table(head, rows)]
    return "\n\n".join(["## Other data", *texts]) if texts else ""


def _two_cores(results: Results) -> str:
    rows = []
    for r in [*results.records("threads"), *results.records("files")]:
        what = f"{r['learner']} on {r['data']}, {r['rows']:,} rows, two threads"
        rows.append([what, ratio(r, "one", "two"), "equal" if r["equal"] else "**differ**"])
    for r in results.records("files"):
        what = f"{r['learner']} on {r['data']}, one thread: the share of reading"
        rows.append([what, f"{100 * over(r, 'reading', 'one').median:.0f} %", DASH])
    for r in results.records("processes"):
        what = f"{r['runs']} {r['what']} ({r['learner']}, {r['data']}), two processes"
        rows.append([what, ratio(r, "one", "two"), DASH])
    return "## Two cores\n\n" + table(("what", "times one", "results"), rows) if rows else ""


def _small_things(results: Results) -> str:
    rows = []
    for r in [*results.records("calls"), *results.records("other_rows")]:
        what = f" ({r['what']})" if "what" in r else ""
        for call in (call for call in ("partial_fit", "predict", "learn_one", "scores_one") if call in r["seconds"]):
            rows.append([f"{r['learner']}: {call} on one row{what}", with_range(microseconds(r, call), "us", 1)])
    for r in results.records("smallest"):
        cost = range_of([1e6 * s / r["rows"] for s in r["seconds"]["ours"]])
        rows.append([f"{r['learner']}: a row with the smallest model, {size(r)}", with_range(cost, "us", 3)])
    for r in results.records("pieces"):
        rows.append([f"{r['what']}: NumPy's or OpenBLAS's time over ours", ratio(r, "theirs", "ours")])
    if record := results.one("imports"):
        rows.append(["from kernelstream import Learner", with_range(range_of(record["seconds"]["ours"]), "s")])
    if record := results.one("command"):
        for kind in ("cold", "warm"):
            what = f"`kernelstream run digits`, {kind} compile cache"
            rows.append([what, with_range(range_of(record["seconds"][kind]), "s")])
    if compiled := results.records("compiling"):
        for kind, label in (("cold", "with an empty compile cache"), ("warm", "with a full one")):
            value = range_of([r[kind] for r in compiled])
            rows.append([f"first rows learned, {label}, over learners", with_range(value, "s")])
    for r in results.records("memory"):
        what = f"peak memory above the imports, {r['rows']:,} rows from {r['format']}"
        rows.append([what, f"{r['megabytes']:.0f} MB"])
    return "## Calls, start, memory\n\n" + table(("what", "measured"), rows) if rows else ""


def _disturbed(results: Results) -> str:
    every = [(part, r) for part, records in results.parts.items() for r in records]
    names = [(part, r.get("learner", r.get("what", "")), r.get("data", "")) for part, r in every if r.get("disturbed")]
    marked = "; ".join(f"{part}: {name} {data}".rstrip() for part, name, data in names)
    text = f"## Disturbed figures\n\n{sum(r.get('rejected', 0) for _, r in every)} turns were rejected and repeated. "
    return text + (f"These figures stayed disturbed: {marked}." if marked else "No figure stayed disturbed.")
