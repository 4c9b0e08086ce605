"""What is measured of learning: a base point for every learner, and sweeps of one factor at a time.

Each part is a list of records: what the case was, and the seconds of all that was timed in turns.
"""

from collections.abc import Callable, Iterable
from typing import Any

from kernelstream import ALGORITHMS
from kernelstream.kernels import Gaussian

from . import peers
from .cases import SLOW, Case, base_parameters, rows_for
from .data import Data, real, sparse_synthetic, synthetic
from .floors import floor
from .measure import Plan, Work, in_turns

Record = dict[str, Any]
BASE_ROWS = 30_000
SIZES = (100, 200, 400, 1000, 2000, 4000)
# An update that costs O(B^2) or O(B^3) is not measured at the largest budgets: filling them takes minutes.
LARGEST_BUDGET = {
    "bpa-p": 400,
    "tvm": 400,
    "bsgd-p": 1000,
    "npbsgd": 1000,
    "projectron": 2000,
    "projectron++": 2000,
    "nogd": 2000,
}
WIDTHS = (8, 32, 128, 256, 512, 1024)
CLASSES = (2, 7, 10, 20)
PRESENT = (4, 16, 64, 256)
SPARSE_WIDTHS = (1_000, 10_000, 100_000)
# One learner of each kind: features, points removed, projected, merged, covered, without a bound.
KINDS = ("fogd", "nogd", "rrf", "rbp", "bogd", "projectron", "bsgd-m", "avm", "ogd")
BUDGETED = tuple(name for name, spec in ALGORITHMS.items() if hasattr(spec, "budget") and name != "dualsgd")
FEATURED = tuple(name for name, spec in ALGORITHMS.items() if hasattr(spec, "n_components"))
MULTICLASS = tuple(name for name, spec in ALGORITHMS.items() if "multiclass" in spec.tasks)


def timed(
    plan: Plan, case: Case, *, with_floor: bool = True, others: dict[str, tuple[Work, int]] | None = None
) -> Record:
    """A record of a case: ours, its floor as the yardstick, and others, each with its number of rows."""
    works: dict[str, Work] = {"ours": case.ours}
    rows = {"ours": len(case.y)}
    if with_floor:
        works["floor"], rows["floor"] = floor(case), len(case.y)
    for name, (work, count) in (others or {}).items():
        works[name], rows[name] = work, count
    turns = in_turns(plan, works, yardstick="floor" if with_floor else None)
    found = {"size": case.finished.size, "bytes": case.finished.n_bytes}
    return {**case.facts(), **found, **turns.as_json(), "rows_of": rows}


def base(name: str) -> Callable[[Plan], list[Record]]:
    """A learner at the papers' sizes on cod-rna, beside its floor, scikit-learn and River."""

    def part(plan: Plan) -> list[Record]:
        data = real("cod-rna").first(rows_for(name, min(BASE_ROWS, plan.most_rows)))
        case = Case(name, data, base_parameters(name))
        rows = min(peers.SKLEARN_ROWS, len(data.y)), min(peers.RIVER_ROWS, len(data.y))
        others = {"sklearn": (peers.sklearn_work(case), rows[0]), "river": (peers.river_work(case), rows[1])}
        record = timed(plan, case, others=others)
        names = {"sklearn": peers.sklearn_words(case), "river": peers.river_words(case)}
        moved = float(case.course.moved.mean())
        return [{**record, "names": names, "moved": moved}]

    return part


def full(name: str, data: Data, rows: int, parameters: dict[str, Any], points: int) -> Case:
    """A case whose dictionary holds `points` before the clock starts; without a bound, or without points, it gets as
    many rows before. Requires: enough rows.
    """
    if name in FEATURED or "budget" not in parameters:
        return Case(name, data.first(points + rows), parameters, warm=points)
    learner, warm = Case(name, data, parameters).started, 0
    while learner.size < points and warm + rows + 320 < len(data.y):
        learner.learn(data.X[warm : warm + 256], data.y[warm : warm + 256])
        warm += 256
    # What happens once, when the budget is reached, is over after some more.
    learner.learn(data.X[warm : warm + 64], data.y[warm : warm + 64])
    case = Case(name, data.first(warm + 64 + rows), parameters, warm=warm + 64)
    case.started = learner  # as it would learn it again
    return case


def _some(points: Iterable[Any], plan: Plan) -> list[Any]:
    return list(points)[: plan.points]


def wide(plan: Plan) -> list[Record]:
    """Every learner at d = 128, its budget full."""
    rows = min(3000, plan.most_rows)
    data = synthetic(12_000, 128)
    records = []
    for name in _some(ALGORITHMS, plan):
        parameters = {**base_parameters(name), "kernel": Gaussian(gamma=1.0)}
        count = min(rows, SLOW[name] // 3) if name in SLOW else rows
        records.append(timed(plan, full(name, data, count, parameters, parameters.get("budget", 400))))
    return records


def budgets(plan: Plan) -> list[Record]:
    """Cost a row against the budget, which is full: d = 16."""
    data = synthetic(30_000, 16)
    records = []
    for name in _some(BUDGETED, plan):
        for budget in _some([size for size in SIZES if size <= LARGEST_BUDGET.get(name, max(SIZES))], plan):
            parameters: dict[str, Any] = {"kernel": Gaussian(gamma=1.0), "budget": budget}
            rows = min(plan.most_rows, 300 if name in LARGEST_BUDGET else 2000)
            case = full(name, data, rows, parameters, budget)
            records.append({**timed(plan, case), "full": case.started.size >= budget})
    return records


def components(plan: Plan) -> list[Record]:
    """Cost a row against the number of random features, d = 16."""
    data = synthetic(30_000, 16).first(min(6000, plan.most_rows))
    records = []
    for name in FEATURED:
        for size in _some(SIZES, plan):
            parameters = {**base_parameters(name), "n_components": size}
            records.append(timed(plan, full(name, data, len(data.y) // 2, parameters, len(data.y) // 2)))
    return records


def dimension(plan: Plan) -> list[Record]:
    """Cost a row against the number of features of dense rows, 400 points or 1,600 components."""
    records = []
    for width in _some(WIDTHS, plan):
        data = synthetic(6000, width)
        for name in _some((n for n in KINDS if n != "ogd"), plan):
            parameters = {**base_parameters(name), "kernel": Gaussian(gamma=1.0)}
            if name == "avm":  # nearly every row is a cell, in all dimensions alike
                parameters["coverage"] = 0.1
            rows = min(1000, plan.most_rows)
            records.append(timed(plan, full(name, data, rows, parameters, 400)))
    return records


def classes(plan: Plan) -> list[Record]:
    """Cost a row against the number of classes, d = 16."""
    records = []
    for count in _some(CLASSES, plan):
        data = synthetic(12_000, 16, count)
        for name in _some((n for n in KINDS if n != "ogd"), plan):
            rows = min(3000, plan.most_rows)
            parameters = {**base_parameters(name), "kernel": Gaussian(gamma=1.0)}
            if name == "avm":
                parameters["coverage"] = 0.1
            records.append(timed(plan, full(name, data, rows, parameters, 400)))
    return records


def _beside_binary(plan: Plan, name: str, data: Data, parameters: dict[str, Any]) -> Record:
    """A learner of all classes beside its floor and itself on one class against the rest."""
    binary = Case(name, data.one_against_rest(), parameters)
    return timed(plan, Case(name, data, parameters), others={"binary": (binary.ours, len(data.y))})


def covtype(plan: Plan) -> list[Record]:
    """Every learner on covtype's seven classes, beside its floor and itself on one class against the rest."""
    records = []
    for name in _some(MULTICLASS, plan):
        parameters = {**base_parameters(name), "kernel": Gaussian(gamma=0.1)}
        data = real("covtype").first(min(rows_for(name, 8000), plan.most_rows))
        records.append(_beside_binary(plan, name, data, parameters))
    return records


def mnist(plan: Plan) -> list[Record]:
    """One learner of each kind on mnist's ten classes, beside its floor and itself on one class against the rest."""
    records = []
    for name in _some(KINDS, plan):
        parameters = {**base_parameters(name), "kernel": Gaussian(gamma=0.02)}
        if name == "avm":
            parameters["coverage"] = 10.0
        data = real("mnist").first(min(3000, plan.most_rows))
        records.append(_beside_binary(plan, name, data, parameters))
    return records


def sparse(plan: Plan) -> list[Record]:
    """One learner of each kind on a9a and w8a as sparse rows, beside its floor and the same rows written out."""
    records = []
    for source in ("a9a", "w8a"):
        data = real(source).first(min(8000, plan.most_rows))
        for name in _some(KINDS, plan):
            parameters = {**base_parameters(name), "kernel": Gaussian(gamma=0.05)}
            if name == "avm":
                parameters["coverage"] = 5.0
            dense = Case(name, data.dense(), parameters)
            case = Case(name, data, parameters)
            record = timed(plan, case, others={"dense": (dense.ours, len(data.y))})
            records.append({**record, "present": data.X.nnz / len(data.y)})
    return records


def nonzeros(plan: Plan) -> list[Record]:
    """Cost a row against the features present (of 10,000), and against all of them (16 present): 100 points or
    components.
    """
    records = []
    shapes = [(10_000, present) for present in _some(PRESENT, plan)]
    shapes += [(width, 16) for width in _some(SPARSE_WIDTHS, plan) if (width, 16) not in shapes]
    for width, present in shapes:
        data = sparse_synthetic(4000, width, present)
        for name in _some(("fogd", "nogd", "rbp", "bogd", "rrf", "norma", "forgetron", "budget-perceptron"), plan):
            size = {"n_components": 100} if name in FEATURED else {"budget": 100}
            parameters = {"kernel": Gaussian(gamma=1.0), **size}
            case = full(name, data, min(1500, plan.most_rows), parameters, 100)
            record = timed(plan, case)
            moved = float(case.course.moved.mean())
            records.append({**record, "present": present, "moved": moved})
    return records


def rows(plan: Plan) -> list[Record]:
    """The cost of a stream against its length, cod-rna, every learner."""
    records = []
    most = min(2 * BASE_ROWS, plan.most_rows)
    for name in _some(ALGORITHMS, plan):
        top = rows_for(name, most)
        for count in _some((top // 8, top // 4, top // 2, top), plan):
            case = Case(name, real("cod-rna").first(count), base_parameters(name))
            records.append(timed(plan._replace(turns=min(3, plan.turns)), case, with_floor=False))
    return records


def precision(plan: Plan) -> list[Record]:
    """Every learner at its base point in float64, beside its floor in float64 and itself in float32."""
    records = []
    for name in _some(ALGORITHMS, plan):
        data = real("cod-rna").first(rows_for(name, min(10_000, plan.most_rows)))
        single = Case(name, data, base_parameters(name))
        case = Case(name, data, base_parameters(name), dtype="float64")
        records.append(timed(plan, case, others={"float32": (single.ours, len(data.y))}))
    return records


PARTS: dict[str, Callable[[Plan], list[Record]]] = {
    **{name: base(name) for name in ALGORITHMS},
    "wide": wide,
    "budgets": budgets,
    "components": components,
    "dimension": dimension,
    "classes": classes,
    "covtype": covtype,
    "mnist": mnist,
    "sparse": sparse,
    "nonzeros": nonzeros,
    "rows": rows,
    "precision": precision,
}
