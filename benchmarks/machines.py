"""What several workers bring and cost: rows a second on Ray, errors, and a model of clusters that are not here.

python -m benchmarks machines      # all of it; then docs/scale.md has the figures
python -m benchmarks.machines      # docs/scale.md anew, from the results that there are

Errors do not depend on clocks: they come from the real coordinator and learners in one process, with virtual clocks
(`distributed.simulated`), which is also what predicts clusters that are not here.
"""

import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from math import ceil, log2
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import ALGORITHMS, Binary, Learner, make
from kernelstream.distributed import Coordinator, train
from kernelstream.distributed.coordinator import Plan as Rounds
from kernelstream.distributed.ledger import Work
from kernelstream.distributed.simulated import Costs, SimulatedCrew
from kernelstream.distributed.worker import Task, Worker, learner_of
from kernelstream.engine.loop import BOTH, LIFT, AtOnce, Examples, learn_rows
from kernelstream.kernels import Gaussian
from kernelstream.metrics import default_metrics
from kernelstream.numerics.compile import direct
from kernelstream.numerics.rows import to_block
from kernelstream.sources import ArraySource, open_source
from kernelstream.sources.pieces import looked_at
from kernelstream.tasks import BINARY

from .measure import Plan
from .merges import rows_of
from .results import Record, Results
from .tables import table

ROOT = Path(__file__).parents[1]
PARAMETERS = {"fogd": {}, "ridge": {"n_components": 400}}
WORKERS = (1, 2, 4, 8)
ROWS = (1_000_000, 4_000_000)
ROW_PARTS = ("read", "lift", "step", "rest")
ERROR_ROWS = 10_000
CLUSTERS = (1, 2, 10, 100, 1000)
MOST_BYTES = 1e9  # of models that are simulated: a worker has two, and they stay in one memory
SIMULATED_ROWS, FAR = 200_000, 10**9
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s
PRICES = (10**9, 10**12)  # rows
ALONE = ("stack",)  # its parts are in the table


def machines(plan: Plan) -> list[Record]:
    quick = plan.most_rows < 10_000
    records: list[Record] = []
    for rows in (20_000,) if quick else ROWS:
        for name in PARAMETERS:
            records += _speeds(name, rows, 1 if quick else 3)
    records += _rows(5_000 if quick else 200_000) + _costs()
    records += _errors(2000 if quick else ERROR_ROWS, ["fogd", "rbp"] if quick else list(ALGORITHMS))
    return records + _predicted(records, quick)


def _drawn(rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(rows, 8)).astype(np.float32)
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, 0.0)


def _learner(name: str) -> Learner:
    return Learner(make(name, kernel=Gaussian(0.5), **PARAMETERS[name]), Binary([0.0, 1.0]), threads=1)


def _written(folder: str, rows: int) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = _drawn(rows)
    path = f"{folder}/rows.parquet"
    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=max(rows // 40, 1))
    return path


def _speeds(name: str, rows: int, turns: int) -> list[Record]:
    """Rows a second of one and of two workers, from Parquet, in turns; the share of the time in which a worker does not
    read and learn.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = _written(folder, rows)
        for _ in range(turns):
            for workers in (1, 2):
                result = train(path, _learner(name), workers=workers)
                last, busy = result.trace.last, sum(one.seconds for one in result.workers)
                record = {"kind": "speed", "learner": name, "workers": workers, "rows": rows}
                record |= {"a_second": last.rows / last.seconds, "idle": 1.0 - busy / workers / last.seconds}
                found.append(record)
                print("  " + ", ".join(f"{k} {v}" for k, v in record.items()), flush=True)
    return found


def _rows(rows: int) -> list[Record]:
    """Seconds of the processor a row: to read it from Parquet, to lift it, to evaluate and step, and what else a worker
    does with it (scaling, labels, metrics).
    """
    metrics, found = default_metrics(BINARY), []
    with tempfile.TemporaryDirectory() as folder:
        source = open_source(_written(folder, rows))
        head = looked_at(source)[0]
        X, y = (np.concatenate(parts) for parts in zip(*source, strict=True))
        for name in PARAMETERS:
            learner = _learner(name)
            learner.learn(X[:2000], y[:2000])
            parts = learner.to_parts()
            worker = Worker()

            def learned(worker: Worker = worker, parts: Any = parts) -> float:
                worker.adopt(Task(metrics, head), parts)
                return _processor(lambda: worker.learn(Work(0, 0), source, rows))

            def lifted(learner: Learner = learner, step: bool = False) -> float:
                return _halves(learner, X, y, step)

            kinds = {"all": learned, "read": lambda: _processor(lambda: deque(source, 0)), "lift": lifted}
            kinds["both"] = lambda: lifted(step=True)
            seconds = {kind: statistics.median(made() for _ in range(3)) / rows for kind, made in kinds.items()}
            step = seconds["both"] - seconds["lift"]
            rest = seconds["all"] - seconds["read"] - seconds["both"]
            told = {"read": seconds["read"], "lift": seconds["lift"], "step": step, "rest": rest}
            found.append({"kind": "row", "learner": name, **told})
            print("  " + ", ".join(f"{k} {v}" for k, v in found[-1].items()), flush=True)
    return found


def _halves(learner: Learner, X: np.ndarray, y: np.ndarray, step: bool) -> float:
    """Seconds in which the engine lifts the rows, or lifts them and learns."""
    runner = learner.snapshot()._runner
    assert runner is not None
    scratch = runner.scratch()
    targets, n = np.where(y > 0, 1.0, -1.0), len(y)
    scores, losses = np.zeros((n, 1), np.float32), np.zeros(n)
    examples = Examples(to_block(X, np.float32)[0], targets, np.ones(n), scores, losses, AtOnce())

    state, chunk = runner.state, scratch.common.chunk
    learn_rows(runner.record, state, scratch, examples, 0, min(chunk, n), LIFT)
    learn_chunk = direct(learn_rows, runner.record, state, scratch, examples, 0, 0, BOTH)

    def lift() -> None:
        for first in range(0, n, chunk):
            learn_chunk(runner.record, state, scratch, examples, first, min(first + chunk, n), LIFT)

    return _processor(lambda: runner.learn(examples, 1)) if step else _processor(lift)


def _processor(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _costs() -> list[Record]:
    """Of one synchronisation: the bytes of a model, seconds of the processor to adopt one, and to merge one into
    another; of a call of Ray: seconds until its answer, and those of the processor of whoever makes it.
    """
    import ray

    X, y = _drawn(4000)
    found = []
    for name in PARAMETERS:
        begun = _learner(name)
        begun.learn(X[:2000], y[:2000])
        one, two = begun.snapshot(), begun.snapshot()
        one.learn(X[2000:3000], y[2000:3000])
        two.learn(X[3000:], y[3000:])
        parts, ones = two.to_parts(), iter([one.snapshot() for _ in range(15)])
        adopt = _median(lambda: _processor(lambda: learner_of(parts).snapshot()))  # noqa: B023
        merge = _median(lambda: _processor(lambda: next(ones).merge(learner_of(parts), since=begun)))  # noqa: B023
        size = sum(array.nbytes for array in parts[1].values())
        found.append({"kind": "cost", "learner": name, "bytes": size, "adopt": adopt, "merge": merge})
    with_ray = not ray.is_initialized()
    if with_ray:
        ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    actor = ray.remote(Worker).remote()
    ray.get(actor.__ray_ready__.remote())
    answers = [_answered(ray, actor) for _ in range(500)]
    clock, processor = (statistics.median(each) for each in zip(*answers, strict=True))
    found.append({"kind": "call", "seconds": clock, "ask": processor})
    if with_ray:
        ray.shutdown()
    return found


def _answered(ray: Any, actor: Any) -> tuple[float, float]:
    """Seconds of the clock and of the processor of a call and its answer."""
    began, start = time.perf_counter(), time.process_time()
    ray.get(actor.__ray_ready__.remote())
    return time.perf_counter() - began, time.process_time() - start


def _median(seconds: Callable[[], float]) -> float:
    return statistics.median(seconds() for _ in range(15))


def _errors(rows: int, names: Sequence[str]) -> list[Record]:
    """The prequential error of 1, 2, 4, 8 workers, for every learner that merges."""
    found = []
    for data in ("cod-rna", "covtype"):
        X, y, task = rows_of(data, rows)
        for name in names:
            if name in ALONE or task().name not in ALGORITHMS[name].tasks:
                continue
            fixed: dict[str, Any] = {} if name == "auto" else {"kernel": Gaussian(1.0 / X.shape[1])}
            fixed |= {"width_learning_rate": 0.0} if name == "rrf" else {}
            errors = []
            for workers in WORKERS:
                learner = Learner(make(name, **fixed), task(), threads=1)
                pieces = _pieces(X, y, 8 * workers)
                crew = SimulatedCrew(workers, Costs(row=1e-5))
                metrics = default_metrics(task().name)
                result = Coordinator(crew, learner, pieces, metrics, Rounds(), source=pieces[0], head=pieces[0]).run()
                errors.append(result.trace.last.metrics["mistake_rate"])
            found.append({"kind": "error", "data": data, "learner": name, "rows": len(y), "errors": errors})
            print(f"  {data} {name} " + " ".join(f"{error:.4f}" for error in errors), flush=True)
    return found


def _pieces(X: np.ndarray, y: np.ndarray, n: int) -> list[ArraySource]:
    parts = np.array_split(np.arange(len(y)), n)
    return [ArraySource(X[some], y[some], name=f"piece {i}") for i, some in enumerate(parts)]


def _predicted(records: list[Record], quick: bool) -> list[Record]:
    """Rows a second and errors of clusters: simulated, the real coordinator and learners with virtual clocks, and by
    the cost model alone, which goes on to as many rows as one likes.
    """
    call = next(one for one in records if one["kind"] == "call")
    found = []
    for name in PARAMETERS:
        row, cost = (
            next(one for one in records if one["kind"] == kind and one["learner"] == name) for kind in ("row", "cost")
        )
        seconds = sum(row[part] for part in ROW_PARTS)
        costs = Costs(seconds, cost["merge"], call["seconds"], NETWORK, cost["adopt"], call["ask"])
        for workers in CLUSTERS[: 2 if quick else None]:
            rows = 5_000 if quick else ROWS[0] if workers <= 2 else SIMULATED_ROWS
            record = {"kind": "predicted", "learner": name, "workers": workers, "rows": rows}
            if workers * cost["bytes"] < MOST_BYTES:
                record |= _simulated(name, rows, workers, costs)
            record |= {"model": rows / _seconds(rows, workers, costs, cost["bytes"])}
            record |= {"far": FAR / _seconds(FAR, workers, costs, cost["bytes"])}
            found.append(record)
            print("  " + ", ".join(f"{k} {v}" for k, v in record.items()), flush=True)
    return found


def _simulated(name: str, rows: int, workers: int, costs: Costs) -> Record:
    X, y = _drawn(rows)
    pieces, crew = _pieces(X, y, 8 * workers), SimulatedCrew(workers, costs)
    metrics = default_metrics(BINARY)
    made = Coordinator(crew, _learner(name), pieces, metrics, Rounds(), source=pieces[0], head=pieces[0])
    last = made.run().trace.last
    return {"simulated": last.rows / last.seconds, "error": last.metrics["mistake_rate"]}


def _seconds(rows: int, workers: int, costs: Costs, size: int) -> float:
    """The cost model: what the coordinator's rounds take. Each call takes a worker and the coordinator their time;
    where these are many, the coordinator's is longer.
    """
    travel, known, seconds = size / costs.bandwidth, 0.0, 0.0
    assert costs.row is not None and costs.merge is not None
    while known < rows:
        total, most = Rounds().rows(int(known), workers)
        total = min(total, rows - known)
        busy = 1 if Rounds().alone(int(known)) > 0 else workers
        calls = _calls(total, most, busy, 1.0 / costs.row)
        seconds += max(total / busy * costs.row + ceil(calls / busy) * costs.call, calls * costs.ask)
        levels = ceil(log2(busy))
        seconds += (busy + 1) * costs.ask + costs.call  # of whom models are asked for
        seconds += levels * (costs.merge + travel + costs.call) + (busy - 1) * costs.ask
        seconds += workers * costs.ask + ceil(log2(workers + 1)) * travel + costs.adopt + costs.call
        known += total
    return seconds


def _calls(total: float, most: int, workers: int, speed: float) -> int:
    """In how many calls a round's rows are learned."""
    calls = 0
    while total > 0:
        total -= Rounds().step(total, most, workers, speed)
        calls += 1
    return calls


# The page.


def write_scale(results: Results, path: Path) -> None:
    """The tables of docs/scale.md, between its marks."""
    text = path.read_text()
    for mark, made in _tables(results).items():
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        head, _, rest = text.partition(begin)
        _, _, tail = rest.partition(end)
        text = f"{head}{begin}\n\n{made}\n\n{end}{tail}"
    path.write_text(text)


def _tables(results: Results) -> dict[str, str]:
    return {
        "speeds": _speed_table(results.records("machines", kind="speed")),
        "rows": _row_table(results.records("machines", kind="row")),
        "costs": _cost_table(results),
        "errors": _error_table(results.records("machines", kind="error")),
        "predicted": _predicted_table(results),
        "hours": _hours_table(results.records("machines", kind="predicted")),
    }


def _speed_table(records: list[Record]) -> str:
    if not records:
        return "Not measured."
    rows = []
    for name in PARAMETERS:
        for n in sorted({one["rows"] for one in records}):
            each = {
                workers: [one for one in records if (one["learner"], one["rows"], one["workers"]) == (name, n, workers)]
                for workers in (1, 2)
            }
            if not each[1]:
                continue
            ratios = [b["a_second"] / a["a_second"] for a, b in zip(each[1], each[2], strict=True)]
            one, two = (f"{statistics.median(s['a_second'] for s in each[workers]):,.0f}" for workers in (1, 2))
            idle = [f"{100 * statistics.median(s['idle'] for s in each[workers]):.0f} %" for workers in (1, 2)]
            ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            rows.append([name, f"{n:,}", one, two, ratio, " and ".join(idle)])
    return table(("learner", "rows", "1 worker, rows/s", "2 workers", "ratio", "of it not learning"), rows)


def _row_table(records: list[Record]) -> str:
    rows = []
    for one in records:
        told = [1e6 * one[part] for part in ROW_PARTS]
        rows.append([one["learner"], *(f"{each:.2f}" for each in told), f"{1e6 / sum(told):,.0f}"])
    return table(("learner", "read, µs", "lift, µs", "evaluate and step, µs", "the rest, µs", "rows/s of a core"), rows)


def _cost_table(results: Results) -> str:
    rows = [
        [one["learner"], f"{one['bytes'] / 1e3:,.0f} kB"] + [f"{1e3 * one[part]:.2f} ms" for part in ("adopt", "merge")]
        for one in results.records("machines", kind="cost")
    ]
    said = "".join(
        f"A call of Ray and its answer: {1e3 * one['seconds']:.2f} ms, of which the coordinator is busy for "
        f"{1e3 * one['ask']:.2f} ms."
        for one in results.records("machines", kind="call")
    )
    return table(("learner", "a model", "adopted", "merged into another"), rows) + f"\n\n{said}"


def _error_table(records: list[Record]) -> str:
    rows = []
    for one in records:
        first, *rest = one["errors"]
        told = [f"{100 * error:.2f} ({error / first:.2f})" for error in rest]
        rows.append([one["learner"], one["data"], f"{100 * first:.2f}", *told])
    rows.sort()
    return table(("learner", "data", "1 worker, %", *(f"{workers} workers" for workers in WORKERS[1:])), rows)


def _predicted_table(results: Results) -> str:
    rows = []
    for one in results.records("machines", kind="predicted"):
        facts = {"learner": one["learner"], "workers": one["workers"], "rows": one["rows"]}
        seen = results.records("machines", kind="speed", **facts)
        measured = f"{statistics.median(each['a_second'] for each in seen):,.0f}" if seen else "-"
        told = [f"{one[name]:,.0f}" if name in one else "-" for name in ("simulated", "model", "far")]
        error = f"{100 * one['error']:.2f} %" if "error" in one else "-"
        rows.append([one["learner"], f"{one['workers']:,}", f"{one['rows']:,}", measured, *told, error])
    head = ("learner", "workers", "rows", "rows/s, measured", "simulated", "cost model")
    return table((*head, f"cost model, {FAR:.0e} rows", "error"), rows)


def _hours_table(records: list[Record]) -> str:
    rows = []
    for one in records:
        hours = [n / one["far"] / 3600 for n in PRICES]
        told = [f"{_hours(each)}, {_hours(each * one['workers'])} of cores" for each in hours]
        rows.append([one["learner"], f"{one['workers']:,}", *told])
    return table(("learner", "workers", *(f"{n:.0e} rows" for n in PRICES)), rows)


def _hours(value: float) -> str:
    return f"{3600 * value:,.0f} s" if value < 0.1 else f"{value:,.1f} h"


PARTS = {"machines": machines}

if __name__ == "__main__":
    write_scale(Results(ROOT / "benchmarks" / "results.json"), ROOT / "docs" / "scale.md")
