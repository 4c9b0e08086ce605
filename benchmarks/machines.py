"""What several workers bring and cost: rows a second on Ray, errors, and a model of clusters that are not here.

python -m benchmarks machines      # all of it; then docs/scale.md has the figures
python -m benchmarks.machines      # docs/scale.md anew, from the results that there are

Errors do not depend on clocks: they come from the real coordinator and learners in one process, with virtual clocks
(`distributed.simulated`), which is also what predicts clusters that are not here.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from math import ceil, log2
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import ALGORITHMS, Binary, Learner, make
from kernelstream.distributed import Coordinator, train
from kernelstream.distributed.coordinator import Plan as Rounds
from kernelstream.distributed.simulated import Costs, SimulatedCrew
from kernelstream.distributed.worker import Worker, learner_of
from kernelstream.kernels import Gaussian
from kernelstream.metrics import default_metrics
from kernelstream.sources import ArraySource
from kernelstream.tasks import BINARY

from .measure import Plan
from .merges import rows_of
from .results import Record, Results
from .tables import table

ROOT = Path(__file__).parents[1]
SPREAD = {"fogd": {}, "ridge": {"n_components": 400}}
WORKERS = (1, 2, 4, 8)
ROWS = 1_000_000
ERROR_ROWS = 10_000
CLUSTERS = {"fogd": (1, 2, 10, 100, 1000), "ridge": (1, 2, 10)}
SIMULATED_ROWS, FAR = 200_000, 10**9
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s
PRICES = (10**9, 10**12)  # rows
ALONE = ("stack",)  # its parts are in the table


def machines(plan: Plan) -> list[Record]:
    quick = plan.most_rows < 10_000
    records = _speeds(20_000 if quick else ROWS, 1 if quick else 3)
    records += _costs()
    records += _errors(2000 if quick else ERROR_ROWS, ["fogd", "rbp"] if quick else list(ALGORITHMS))
    return records + _predicted(records, quick)


def _drawn(rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(rows, 8)).astype(np.float32)
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, 0.0)


def _learner(name: str) -> Learner:
    return Learner(make(name, kernel=Gaussian(0.5), **SPREAD[name]), Binary([0.0, 1.0]), threads=1)


def _speeds(rows: int, turns: int) -> list[Record]:
    """Rows a second of one and of two workers, from Parquet, in turns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = _drawn(rows)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
        pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=max(rows // 40, 1))
        for name in SPREAD:
            for _ in range(turns):
                for workers in (1, 2):
                    result = train(path, _learner(name), workers=workers)
                    last, took = result.trace.last, sum(one.took for one in result.synchronisations)
                    record = {"kind": "speed", "learner": name, "workers": workers, "rows": rows}
                    record |= {"a_second": last.rows / last.seconds, "synchronising": took / last.seconds}
                    record |= {"a_worker": statistics.mean(one.rows_per_second for one in result.workers)}
                    found.append(record)
                    print("  " + ", ".join(f"{k} {v}" for k, v in record.items()), flush=True)
    return found


def _costs() -> list[Record]:
    """Of one synchronisation: the bytes of a model, seconds to take it apart and make it anew, and to merge two; of a
    call of Ray.
    """
    import ray

    X, y = _drawn(4000)
    found = []
    for name in SPREAD:
        begun = _learner(name)
        begun.learn(X[:2000], y[:2000])
        forks = []
        for rows in (slice(2000, 3000), slice(3000, 4000)):
            forks.append(begun.snapshot())
            forks[-1].learn(X[rows], y[rows])
        parts = [fork.to_parts() for fork in forks]
        made = _median(lambda: learner_of(parts[0]))  # noqa: B023
        merge = _median(lambda: learner_of(parts[0]).merge(forks[1], since=begun))  # noqa: B023
        size = sum(array.nbytes for array in parts[0][1].values())
        found.append({"kind": "cost", "learner": name, "bytes": size, "made": made, "merge": merge})
    with_ray = not ray.is_initialized()
    if with_ray:
        ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    actor = ray.remote(Worker).remote()
    small = ray.put(0)
    ray.get(actor.__ray_ready__.remote())
    found.append({"kind": "call", "seconds": _median(lambda: ray.wait([actor.__ray_ready__.remote()]), 200)})
    del small
    if with_ray:
        ray.shutdown()
    return found


def _median(work: Callable[[], Any], times: int = 15) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


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
    call = next(one["seconds"] for one in records if one["kind"] == "call")
    X, y = _drawn(5_000 if quick else SIMULATED_ROWS)
    found = []
    for name in SPREAD:
        speeds = [one for one in records if one["kind"] == "speed" and one["learner"] == name]
        cost = next(one for one in records if one["kind"] == "cost" and one["learner"] == name)
        for workers in CLUSTERS[name][: 2 if quick else None]:
            # Two workers share what two cores of this machine share; those of a cluster do not.
            alike = [one for one in speeds if one["workers"] == min(workers, 2)] if workers <= 2 else speeds
            row = 1.0 / statistics.median(one["a_worker"] for one in alike)
            costs = Costs(row=row, merge=cost["merge"], call=call, bandwidth=NETWORK)
            pieces, metrics = _pieces(X, y, 8 * workers), default_metrics(BINARY)
            crew = SimulatedCrew(workers, costs)
            result = Coordinator(
                crew, _learner(name), pieces, metrics, Rounds(), source=pieces[0], head=pieces[0]
            ).run()
            last = result.trace.last
            record = {"kind": "predicted", "learner": name, "workers": workers, "rows": len(y)}
            record |= {"simulated": last.rows / last.seconds, "error": last.metrics["mistake_rate"]}
            record |= {"model": len(y) / _seconds(len(y), workers, costs, cost)}
            record |= {"far": FAR / _seconds(FAR, workers, costs, cost)}
            found.append(record)
            print("  " + ", ".join(f"{k} {v}" for k, v in record.items()), flush=True)
    return found


def _seconds(rows: int, workers: int, costs: Costs, cost: Record) -> float:
    """The cost model: what the coordinator's rounds take."""
    travel, known, seconds = cost["bytes"] / costs.bandwidth, 0.0, 0.0
    assert costs.row is not None and costs.merge is not None
    while known < rows:
        total, step = Rounds().rows(int(known), workers)
        total = min(total, rows - known)
        busy = 1 if Rounds().alone(int(known)) > 0 else workers
        calls = ceil(total / busy / step)
        levels = ceil(log2(busy))
        seconds += total / busy * costs.row + calls * costs.call + 2 * costs.call
        seconds += levels * (costs.merge + travel + costs.call) + ceil(log2(workers + 1)) * travel + cost["made"]
        known += total
    return seconds


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
        "costs": _cost_table(results),
        "errors": _error_table(results.records("machines", kind="error")),
        "predicted": _predicted_table(results),
        "hours": _hours_table(results.records("machines", kind="predicted")),
    }


def _speed_table(records: list[Record]) -> str:
    rows = []
    for name in SPREAD:
        each = {
            workers: [one["a_second"] for one in records if one["learner"] == name and one["workers"] == workers]
            for workers in (1, 2)
        }
        if each[1]:
            ratios = [two / one for one, two in zip(each[1], each[2], strict=True)]
            share = statistics.median(
                one["synchronising"] for one in records if one["learner"] == name and one["workers"] == 2
            )
            one, two = (f"{statistics.median(each[workers]):,.0f}" for workers in (1, 2))
            rows.append(
                [
                    name,
                    one,
                    two,
                    f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                    f"{100 * share:.0f} %",
                ]
            )
    return table(("learner", "1 worker, rows/s", "2 workers", "ratio", "of it synchronising"), rows)


def _cost_table(results: Results) -> str:
    rows = [
        [one["learner"], f"{one['bytes'] / 1e3:,.0f} kB", f"{1e3 * one['made']:.2f} ms", f"{1e3 * one['merge']:.2f} ms"]
        for one in results.records("machines", kind="cost")
    ]
    calls = results.records("machines", kind="call")
    said = f"A call of Ray and its answer: {1e3 * calls[0]['seconds']:.2f} ms." if calls else ""
    return table(("learner", "a model", "made of its parts", "two merged"), rows) + f"\n\n{said}"


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
        seen = results.records("machines", kind="speed", learner=one["learner"], workers=one["workers"])
        measured = f"{statistics.median(each['a_second'] for each in seen):,.0f}" if seen else "-"
        told = [f"{one[name]:,.0f}" for name in ("simulated", "model", "far")]
        rows.append([one["learner"], f"{one['workers']:,}", measured, *told, f"{100 * one['error']:.2f} %"])
    head = ("learner", "workers", "rows/s, measured", "simulated", "cost model", f"cost model, {FAR:.0e} rows", "error")
    return table(head, rows)


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
