"""The transformers beside scikit-learn's, at equal numbers of columns: float32 rows in chunks of 256, one thread."""

from collections.abc import Callable
from typing import Any

from sklearn.kernel_approximation import Nystroem, RBFSampler

from kernelstream import FourierFeatures, NystromFeatures, StructuredFeatures

from .data import real
from .measure import Plan, in_turns
from .peers import CHUNK
from .results import Record, Results
from .tables import rate, ratio, table

ROWS, POINTS_FROM = 4096, 2000
# data, its gamma, columns of random features, landmarks
CASES = (("cod-rna", 0.5, 3200, 400), ("mnist", 0.02, 2000, 400))


def _transforming(transformer: Any, X: Any) -> Callable[[], Callable[[], Any]]:
    def run() -> None:
        for start in range(0, len(X), CHUNK):
            transformer.transform(X[start : start + CHUNK])

    return lambda: run


def transformers(plan: Plan) -> list[Record]:
    records = []
    for name, gamma, columns, landmarks in CASES:
        X = real(name).first(min(ROWS, plan.most_rows)).X.astype("float32")
        few = X[:POINTS_FROM]
        given: dict[str, Any] = {"gamma": gamma, "random_state": 0}
        sampler, points = RBFSampler(n_components=columns, **given), Nystroem(n_components=landmarks, **given)
        random = {"gamma": gamma, "random_state": 0, "threads": 1}
        pairs = [
            (FourierFeatures(columns // 2, **random), sampler, columns),
            (StructuredFeatures(columns // 2, **random), sampler, columns),
            (NystromFeatures(landmarks, gamma=gamma, tolerance=1e-4, threads=1), points, landmarks),
        ]
        for ours, theirs, n in pairs:
            works = {"ours": _transforming(ours.fit(few), X), "theirs": _transforming(theirs.fit(few), X)}
            facts = {"what": type(ours).__name__, "beside": type(theirs).__name__, "data": name, "d": X.shape[1]}
            records.append({**facts, "columns": n, "rows": len(X), **in_turns(plan, works).as_json()})
    return records


PARTS = {"transformers": transformers}


def section(results: Results) -> str:
    """Of the page."""
    rows = []
    for r in results.records("transformers"):
        data = f"{r['data']}, {r['d']}"
        rows.append([r["what"], data, f"{r['columns']:,}", rate(r), ratio(r, "theirs", "ours")])
    if not rows:
        return ""
    head = ("transformer", "data, features", "columns", "rows/s", "times scikit-learn's")
    text = (
        "RBFSampler for random features, Nystroem for landmarks, both of as many columns, given the same float32 rows."
    )
    return f"## Transformers\n\n{table(head, rows)}\n\n{text}"
