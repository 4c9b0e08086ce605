"""Rows that are dictionaries, one at a time, predicted and then learned: our models of River's kind beside River's own,
and beside our estimators in River's wrapper.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from river import compat, linear_model

from kernelstream import FOGD, RBP, Learner, OnlineKernelClassifier
from kernelstream.encoding import Columns
from kernelstream.kernels import Gaussian
from kernelstream.river import KernelClassifier
from kernelstream.tasks import Binary

from .measure import Plan, Work, in_turns
from .results import Record
from .tables import rate, ratio, table

WIDTH, ROWS, FEW, BLOCK = 10, 2000, 50, 1000
GAUSSIAN = Gaussian(gamma=0.05)
SPECS = {
    "rbp, 200 points": RBP(kernel=GAUSSIAN, budget=200),
    "fogd, 200 features": FOGD(kernel=GAUSSIAN, n_components=100),
}


def drawn(n: int) -> tuple[np.ndarray, list[dict[str, float]], list[bool]]:
    X = np.random.default_rng(0).normal(size=(n, WIDTH))
    rows = [{f"f{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    return X, rows, (X[:, 0] * X[:, 1] + X[:, 2] > 0).tolist()


def one_by_one(begin: Callable[[], Any], rows: Iterable[dict[str, float]], labels: Iterable[bool]) -> Work:
    """A model that has learned all rows meets them again."""
    pairs = list(zip(rows, labels, strict=True))
    model = begin()
    for x, y in pairs:
        model.learn_one(x, y)

    def run() -> None:
        for x, y in pairs:
            model.predict_one(x)
            model.learn_one(x, y)

    return lambda: run


def river(plan: Plan) -> list[Record]:
    """10 features, two classes: a dictionary a call, and blocks of 1,000 rows as a table and as an array."""
    n = min(ROWS, plan.most_rows)
    X, rows, labels = drawn(n)
    table_, series = pd.DataFrame(rows[:BLOCK]), pd.Series(labels[:BLOCK])
    records = []
    for name, spec in SPECS.items():
        many, block = KernelClassifier(spec, seed=0), Learner(spec, Binary([False, True]), columns=Columns())
        many.learn_many(table_, series)
        block.learn(rows[:BLOCK], labels[:BLOCK])
        wrapped = compat.SKL2RiverClassifier(OnlineKernelClassifier(spec, random_state=0), classes=[False, True])
        works: dict[str, Work] = {
            "ours": one_by_one(lambda spec=spec: KernelClassifier(spec, seed=0), rows, labels),
            "logistic": one_by_one(linear_model.LogisticRegression, rows, labels),
            "wrapped": one_by_one(lambda wrapped=wrapped: wrapped, rows[:FEW], labels[:FEW]),
            "many": lambda many=many: lambda: many.learn_many(table_, series),
            "block": lambda block=block: lambda: block.learn(X[:BLOCK], np.array(labels[:BLOCK])),
        }
        turns = in_turns(plan, works)
        counts = {"ours": n, "logistic": n, "wrapped": min(FEW, n), "many": len(series), "block": len(series)}
        records.append({"learner": name, "rows": n, "d": WIDTH, **turns.as_json(), "rows_of": counts})
    return records


def section(records: list[Record]) -> str:
    """The part of the page."""
    rows = [
        [
            r["learner"],
            rate(r),
            ratio(r, "logistic", "ours"),
            ratio(r, "wrapped", "ours"),
            ratio(r, "many", "block"),
        ]
        for r in records
    ]
    head = ("learner", "rows/s", "times LogisticRegression", "times River's wrapper", "`learn_many` over an array")
    text = (
        "## Rows of River's\n\nDictionaries of 10 numbers, two classes, `predict_one` and then `learn_one`: "
        "`kernelstream.river.KernelClassifier`, River's own LogisticRegression, and our estimator in River's wrapper, "
        "in one run; `learn_many` on tables of 1,000 rows beside `Learner.learn` on the same rows as an array.\n\n"
    )
    return text + table(head, rows) if rows else ""


PARTS: dict[str, Callable[[Plan], list[Record]]] = {"river": river}
