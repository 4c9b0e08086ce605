"""Two cores, other feature maps, and single calls: what is compared with ourselves rather than with a floor."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import Binary, Learner, Multiclass, OnlineKernelClassifier, make
from kernelstream.engine.inputs import NONE, ONLINE, fitted
from kernelstream.evaluate.experiments import Repetition, repeated
from kernelstream.evaluate.tune import tune
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource, ReadAhead, open_source
from kernelstream.sources.survey import survey
from kernelstream.sources.writers import convert

from .cases import Case, base_parameters
from .data import Data, real
from .measure import Plan, in_turns

Record = dict[str, Any]


def _wall(plan: Plan, one: Callable[[], Any], two: Callable[[], Any]) -> Record:
    """Both in turns, by the clock on the wall; the one process is the yardstick."""
    turns = in_turns(plan, {"one": lambda: one, "two": lambda: two}, yardstick="one", clock=time.perf_counter)
    return turns.as_json()


def threads(plan: Plan) -> list[Record]:
    """FOGD and NOGD on mnist and on a sixth of covtype with one thread and with two, and whether all bits are equal."""
    records = []
    for source, gamma, rows in (("mnist", 0.02, 60_000), ("covtype", 0.1, 100_000)):
        for name in ("fogd", "nogd"):
            parameters = {**base_parameters(name), "kernel": Gaussian(gamma=gamma)}
            data = real(source).first(min(rows, plan.most_rows))
            runs = [Case(name, data, parameters, threads=count) for count in (1, 2)]
            equal = np.array_equal(*(run.ours()() for run in runs))
            works = {"one": runs[0].ours, "two": runs[1].ours}
            turns = in_turns(plan, works, yardstick="one", clock=time.perf_counter)
            records.append({**runs[0].facts(), **turns.as_json(), "equal": equal})
    return records


def files(plan: Plan) -> list[Record]:
    """The same from a LIBSVM file of covtype: read and learned in turn on one core; on two, read ahead of learning."""
    data = real("covtype").first(min(60_000, plan.most_rows))
    records = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "covtype.libsvm"
        convert(ArraySource(data.X, data.y), path)
        for name in ("fogd", "nogd"):
            case = Case(name, data, {**base_parameters(name), "kernel": Gaussian(gamma=0.1)})

            def learn(threads: int, case: Case = case) -> list[np.ndarray]:
                learner = Learner(make(case.learner, **case.parameters), Multiclass(range(7)), threads=threads)
                source = open_source(path)
                return [learner.learn(X, y) for X, y in (ReadAhead(source) if threads > 1 else source)]

            def read() -> None:
                for _ in open_source(path):
                    pass

            equal = all(map(np.array_equal, learn(1), learn(2)))
            works = {"one": lambda: lambda: learn(1), "two": lambda: lambda: learn(2), "reading": lambda: read}
            turns = in_turns(plan, works, yardstick="one", clock=time.perf_counter)
            records.append({**case.facts(), "data": "covtype from a file", **turns.as_json(), "equal": equal})
    return records


def processes(plan: Plan) -> list[Record]:
    """Row orders and tuning trials in one process and in two."""
    small = plan.most_rows < 10_000
    data = real("cod-rna").first(plan.most_rows)
    source = ArraySource(data.X, data.y, name=data.name)
    one = Repetition(make("fogd", kernel=Gaussian(gamma=1.0), n_components=400), source, survey(source, task="binary"))
    orders = range(2 if small else 64)
    found = _wall(plan, lambda: repeated([one], orders, jobs=1), lambda: repeated([one], orders, jobs=2))
    records = [{"what": "row orders", "learner": "fogd", "data": data.name, "runs": len(orders), **found}]
    data = real("covtype").first(min(60_000, plan.most_rows))
    task, trials = Multiclass(range(7)), 3 if small else 48

    def search(jobs: int) -> Callable[[], Any]:
        return lambda: tune("fogd", data.X, data.y, task, trials=trials, jobs=jobs, settings=["n_components=1600"])

    found = _wall(plan, search(1), search(2))
    return [*records, {"what": "tuning trials", "learner": "fogd", "data": data.name, "runs": trials, **found}]


def structured(plan: Plan) -> list[Record]:
    """FOGD on mnist with the plain map and with a structured one of as many components, and their errors."""
    data = real("mnist").first(min(20_000, plan.most_rows))
    parameters = {**base_parameters("fogd"), "kernel": Gaussian(gamma=0.02)}
    plain = Case("fogd", data, parameters)
    other = Case("fogd", data, {**parameters, "map": "structured"})
    errors = {name: _error(case, data) for name, case in (("plain", plain), ("structured", other))}
    turns = in_turns(plan, {"plain": plain.ours, "structured": other.ours}, yardstick="structured")
    return [{**plain.facts(), **turns.as_json(), "errors": errors}]


def _error(case: Case, data: Data) -> float:
    """Of the predictions that were made before each row was learned."""
    return float((case.ours()().argmax(1) != data.y).mean())


def calls(plan: Plan) -> list[Record]:
    """One row by `partial_fit`, `predict`, `learn_one`, `scores_one`; all by `predict_learn` and `partial_fit`."""
    data = real("cod-rna").first(min(20_000, plan.most_rows))
    times = min(1000, len(data.y))
    records = []
    for name, size in (("fogd", {"n_components": 100}), ("nogd", {"budget": 100}), ("rbp", {"budget": 100})):
        spec = make(name, kernel=Gaussian(gamma=1.0), **size)

        def fresh(spec: Any = spec) -> OnlineKernelClassifier:
            model = OnlineKernelClassifier(spec, random_state=0)
            return model.partial_fit(data.X[:1000], data.y[:1000], classes=[-1, 1])

        model = fresh()

        def fit(model: Any = model) -> None:
            for t in range(times):
                model.partial_fit(data.X[t : t + 1], data.y[t : t + 1])

        def predict(model: Any = model) -> None:
            for t in range(times):
                model.predict(data.X[t : t + 1])

        def learn_one(learner: Any = model.learner_) -> None:
            for t in range(times):
                learner.learn_one(data.X[t], data.y[t])

        def scores_one(learner: Any = model.learner_) -> None:
            for t in range(times):
                learner.scores_one(data.X[t])

        def whole(method: str, fresh: Callable[[], Any] = fresh) -> Callable[[], Callable[[], Any]]:
            def work() -> Callable[[], Any]:
                model = fresh()
                return lambda: getattr(model, method)(data.X, data.y)

            return work

        works = {
            "partial_fit": lambda fit=fit: fit,
            "predict": lambda predict=predict: predict,
            "learn_one": lambda learn_one=learn_one: learn_one,
            "scores_one": lambda scores_one=scores_one: scores_one,
            "all rows": whole("partial_fit"),
            "predict_learn": whole("predict_learn"),
        }
        turns = in_turns(plan, works)
        rows = {name: len(data.y) if name in ("all rows", "predict_learn") else times for name in works}
        facts = {"learner": name, "data": data.name, "d": data.width, **size}
        records.append({**facts, **turns.as_json(), "rows_of": rows})
    return records


def other_rows(plan: Plan) -> list[Record]:
    """`calls` of FOGD for one row that is stored otherwise, or scaled."""
    data = real("cod-rna").first(min(20_000, plan.most_rows))
    X, times = np.asarray(data.X, np.float64), min(1000, len(data.y))
    names = [f"column {j}" for j in range(data.width)]
    forms: dict[str, tuple[str, Any]] = {
        "in columns": (NONE, np.asfortranarray(X)),
        "whole numbers": (NONE, np.round(100 * X).astype(np.int64)),
        "lists": (NONE, X.tolist()),
        "dictionaries": (NONE, [dict(zip(names, x, strict=True)) for x in X.tolist()]),
        'scaling="standard"': ("standard", X),
        'scaling="online"': (ONLINE, X),
        'dictionaries, scaling="online"': (ONLINE, [dict(zip(names, x, strict=True)) for x in X.tolist()]),
    }
    records = []
    for what, (scaling, rows) in forms.items():
        spec = make("fogd", kernel=Gaussian(gamma=1.0), n_components=100)
        fitted_on = fitted(scaling, [X]) if scaling == "standard" else scaling
        learner = Learner(spec, Binary([-1, 1]), scaling=fitted_on)
        learner.learn(rows[:1000], data.y[:1000])

        def learn_one(learner: Learner = learner, rows: Any = rows) -> None:
            for t in range(times):
                learner.learn_one(rows[t], data.y[t])

        def scores_one(learner: Learner = learner, rows: Any = rows) -> None:
            for t in range(times):
                learner.scores_one(rows[t])

        def whole(learner: Learner = learner, rows: Any = rows) -> None:
            learner.learn(rows, data.y)

        works: dict[str, Callable[[], None]] = {"learn_one": learn_one, "scores_one": scores_one, "all rows": whole}
        if isinstance(rows, np.ndarray):
            model = OnlineKernelClassifier(spec, scaling=fitted_on, random_state=0)
            model.partial_fit(rows[:1000], data.y[:1000])

            def fit(model: Any = model, rows: Any = rows) -> None:
                for t in range(times):
                    model.partial_fit(rows[t : t + 1], data.y[t : t + 1])

            def predict(model: Any = model, rows: Any = rows) -> None:
                for t in range(times):
                    model.predict(rows[t : t + 1])

            works |= {"partial_fit": fit, "predict": predict}
        turns = in_turns(plan, {name: lambda work=work: work for name, work in works.items()})
        counts = {name: len(data.y) if name == "all rows" else times for name in works}
        facts = {"learner": "fogd", "what": what, "data": data.name, "d": data.width}
        records.append({**facts, **turns.as_json(), "rows_of": counts})
    return records


def smallest(plan: Plan) -> list[Record]:
    """A row's cost with next to no model: what does not depend on its size."""
    data = real("cod-rna").first(min(20_000, plan.most_rows))
    records = []
    one = {"n_components": 1}, {"budget": 1}, {"coverage": 5.0}
    for name, size in (("fogd", one[0]), ("rrf", one[0]), ("rbp", one[1]), ("bogd", one[1]), ("avm", one[2])):
        case = Case(name, data, {**base_parameters(name), **size})
        turns = in_turns(plan, {"ours": case.ours})
        records.append({**case.facts(), **turns.as_json(), "size": case.finished.size})
    return records


PARTS: dict[str, Callable[[Plan], list[Record]]] = {
    "threads": threads,
    "files": files,
    "processes": processes,
    "structured": structured,
    "calls": calls,
    "other_rows": other_rows,
    "smallest": smallest,
}
