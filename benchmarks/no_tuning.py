"""Errors of learners that nobody tuned, on raw rows: `python -m benchmarks.no_tuning` writes docs/no-tuning.md.

Rows are as the data sets have them: not scaled, in one random order or, where it is said, in their own. Every learner
predicts a row before it learns it. `--sets elec2,bike` measures some, `--seeds` how often ours is repeated; results
that were measured before stay in benchmarks/no_tuning.json.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

from kernelstream import Binary, Learner, Multiclass, Regression  # noqa: E402
from kernelstream.sources.datasets import open_dataset  # noqa: E402

ROOT = Path(__file__).parents[1]
FILE, PAGE = ROOT / "benchmarks" / "no_tuning.json", ROOT / "docs" / "no-tuning.md"
MOST = 50_000
FEWER = 10_000  # rows that slow learners are given


HEAD = f"""# Without tuning

What people get who set nothing: raw rows, one pass, every row predicted before it is learned. Written by
`python -m benchmarks.no_tuning`. Errors are mistake rates, or squared error over the variance of the targets, over all
rows / over the second half. `auto` is the mean of several seeds, with their standard deviation over all rows; rows/s
are of one core and count all settling. The forest is River's adaptive random forest of ten trees, on the first
{FEWER:,} rows; `auto` stands beside it on the same rows. *No change* repeats the last label.

These are the data sets on which the design was chosen, and some thirty designs were compared on them: the figures of
`auto` are optimistic. *Sketch* is the design that it began from.
"""
TABLE = (
    "| data | rows x features | fogd, defaults | sketch | auto | rows/s | auto, fewer rows | forest, same rows "
    "| its rows/s | no change |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


class Set(NamedTuple):
    name: str
    split: str
    regression: bool = False
    in_time: bool = False
    most: int = MOST
    sketch: tuple[float, float] = (math.nan, math.nan)  # published with the design this learner began from


SETS = {
    "german": Set("german", "raw", sketch=(0.258, 0.262)),
    "spambase": Set("spambase", "fogd", sketch=(0.076, 0.061)),
    "a9a": Set("a9a", "train", sketch=(0.157, 0.156)),
    "w8a": Set("w8a", "train", sketch=(0.0160, 0.0128)),
    "cod-rna": Set("cod-rna", "train", sketch=(0.0512, 0.0480)),
    "satimage": Set("satimage", "raw_train", sketch=(0.117, 0.107)),
    "dna": Set("dna", "train", sketch=(0.081, 0.047)),
    "shuttle": Set("shuttle", "train", sketch=(0.0017, 0.0006)),
    "mnist": Set("mnist", "train", most=20_000, sketch=(0.086, 0.061)),
    "covtype": Set("covtype", "all", sketch=(0.215, 0.196)),
    "covtype in time": Set("covtype", "all", in_time=True, sketch=(0.062, 0.020)),
    "elec2 in time": Set("elec2", "all", in_time=True, sketch=(0.069, 0.079)),
    "kddcup99 in time": Set("kddcup99", "train10pct", in_time=True, sketch=(0.0013, 0.0014)),
    "housing": Set("housing", "raw", True, sketch=(0.210, 0.185)),
    "abalone": Set("abalone", "scaled", True, sketch=(0.446, 0.432)),
    "cpusmall": Set("cpusmall", "raw", True, sketch=(0.039, 0.026)),
    "bike": Set("bike", "hour", True, sketch=(0.092, 0.074)),
    "parkinsons": Set("parkinsons", "total_UPDRS", True, sketch=(0.087, 0.019)),
    "mg": Set("mg", "fogd01", True, sketch=(0.317, 0.287)),
    "airlines": Set("airlines-nyc2013", "all", True, sketch=(0.699, 0.688)),
}


def rows_of(chosen: Set) -> tuple[np.ndarray, np.ndarray]:
    blocks, n = [], 0
    for X, y in open_dataset(chosen.name, chosen.split):
        blocks.append((sp.csr_array(X), y))
        n += len(y)
        if chosen.in_time and n >= chosen.most:
            break
    width = max(X.shape[1] for X, _ in blocks)
    X = sp.vstack([sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width)) for X, _ in blocks], "csr")
    y = np.concatenate([y for _, y in blocks])
    order = np.arange(len(y)) if chosen.in_time else np.random.default_rng(0).permutation(len(y))
    order = order[: chosen.most]
    y = y[order]
    return X[order].toarray(), (y != 0).astype(float) if chosen.name == "kddcup99" else y


def errors_of(shown: np.ndarray, y: np.ndarray, *, regression: bool) -> list[float]:
    """Over all rows and over the second half: the share of mistakes, or squared error over the targets' variance. The
    first target of a regression nobody can predict.
    """
    each = ((shown - y) ** 2 / y.var())[1:] if regression else (shown != y).astype(float)
    return [float(each.mean()), float(each[len(each) // 2 :].mean())]


def by_ours(name: str, X: Any, y: np.ndarray, regression: bool, seed: int) -> dict[str, Any]:
    classes = np.unique(y)
    task = Regression() if regression else Binary(classes) if len(classes) == 2 else Multiclass(classes)
    Learner(name, task).learn(X[:64], y[:64])  # compiles
    learner = Learner(name, task, seed=seed, threads=1)
    began = time.process_time()
    try:
        scores = learner.learn(X, y)
    except FloatingPointError:
        return {"errors": [math.inf, math.inf], "rows": len(y)}
    seconds = time.process_time() - began
    errors = errors_of(task.decode(scores), y, regression=regression)
    return {"errors": errors, "rows": len(y), "seconds": seconds, "megabytes": learner.n_bytes / 1e6}


def by_river(X: np.ndarray, y: np.ndarray, regression: bool) -> dict[str, Any]:
    from river import forest

    kind = forest.ARFRegressor if regression else forest.ARFClassifier
    model, shown, labels = kind(n_models=10, seed=0), [], y.tolist()
    began = time.process_time()
    for x, label in zip(X.tolist(), labels, strict=True):
        features = dict(enumerate(x))
        shown.append(model.predict_one(features))
        model.learn_one(features, label)
    seconds = time.process_time() - began
    first = 0.0 if regression else labels[0]
    answers = np.array([first if answer is None else answer for answer in shown])
    return {"errors": errors_of(answers, y, regression=regression), "rows": len(y), "seconds": seconds}


def no_change(y: np.ndarray) -> dict[str, Any]:
    shown = np.concatenate([y[:1], y[:-1]])
    return {"errors": errors_of(shown, y, regression=False), "rows": len(y)}


def measured(label: str, seeds: int) -> dict[str, Any]:
    chosen = SETS[label]
    X, y = rows_of(chosen)
    found: dict[str, Any] = {
        "shape": list(X.shape),
        "auto": [by_ours("auto", X, y, chosen.regression, seed) for seed in range(seeds)],
        "fogd": by_ours("fogd", X, y, chosen.regression, 0),
        "auto on fewer": by_ours("auto", X[:FEWER], y[:FEWER], chosen.regression, 0),
    }
    return found | ({"no change": no_change(y)} if chosen.in_time else {})


def forest_measured(label: str) -> dict[str, Any]:
    chosen = SETS[label]
    X, y = rows_of(chosen._replace(most=min(chosen.most, FEWER)))
    return {"forest": by_river(X, y, chosen.regression)}


def known() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def page(results: dict[str, Any]) -> str:
    lines = [HEAD, *TABLE]
    ratios = []
    for label, chosen in SETS.items():
        if "auto" not in results.get(label, {}):
            continue
        r = results[label]
        errors = np.array([run["errors"] for run in r["auto"]])
        mean, deviation = errors.mean(axis=0), errors[:, 0].std()
        ratios.append(np.log(mean / np.array(chosen.sketch)))
        speed = np.mean([run["rows"] / run["seconds"] for run in r["auto"]])
        forest = r.get("forest")
        lines.append(
            f"| {label} | {r['shape'][0]:,} x {r['shape'][1]} | {both(r['fogd']['errors'])} | {both(chosen.sketch)} "
            f"| **{both(mean)}** ({short(float(deviation))}) | {speed:,.0f} | {both(r['auto on fewer']['errors'])} "
            f"| {both(forest['errors']) if forest else '-'} "
            f"| {format(forest['rows'] / forest['seconds'], ',.0f') if forest else '-'} "
            f"| {both(r['no change']['errors']) if 'no change' in r else '-'} |"
        )
    all_rows, second = np.exp(np.mean(ratios, axis=0))
    lines += [
        "",
        f"Geometric mean of auto over sketch: {all_rows:.3f} over all rows, {second:.3f} over the second half.",
        "",
    ]
    return "\n".join(lines)


def short(error: float) -> str:
    if not error <= 10.0:
        return "diverged"
    return f"{error:.4f}" if error < 0.1 else f"{error:.3f}"


def both(errors: Any) -> str:
    return " / ".join(short(float(error)) for error in errors)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.no_tuning", description=__doc__)
    parser.add_argument("--sets", help=f"some of {', '.join(SETS)}; all of them otherwise")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--forest", action="store_true", help="measure River's forest instead of ours; it takes longer")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    options = parser.parse_args()
    for label in [] if options.page else (options.sets.split(",") if options.sets else SETS):
        found = forest_measured(label) if options.forest else measured(label, options.seeds)
        results = known()
        results[label] = {**results.get(label, {}), **found}
        FILE.write_text(json.dumps(results, indent=1) + "\n")
        print(label, found, flush=True)
    PAGE.write_text(page(known()))


if __name__ == "__main__":
    main()
