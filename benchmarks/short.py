"""Short streams: `auto` on raw rows beside what people use on few rows, each row predicted before it is learned.

    python -m benchmarks.short [set ...]

Four draws of 600 rows of each set (a piece of them where rows have an order). Errors over rows 0 to 49, 50 to 199, 200
to 599 and all: the share of mistakes, or squared error over the targets' variance. fogd and nogd have features, and
targets, that are scaled as they come. LogisticRegression (RidgeCV) and SVC (SVR) of scikit-learn are fitted anew, on
standardised rows, when rows have grown by 15 percent, two rows at least. Last, geometric means as a factor on `auto`.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.compose import TransformedTargetRegressor  # noqa: E402
from sklearn.linear_model import LogisticRegression, RidgeCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC, SVR  # noqa: E402

from .no_tuning.peers import peer  # noqa: E402
from .no_tuning.sets import DESIGN, Rows, rows_of  # noqa: E402

DRAWS, LENGTH, CUTS = range(4), 600, ((0, 50), (50, 200), (200, 600), (0, 600))
LEAST = 1e-3  # an error that geometric means tell from none
REFITTED: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "linear": (LogisticRegression, lambda: RidgeCV(np.logspace(-2, 3, 11))),
    "svm": (SVC, lambda: TransformedTargetRegressor(SVR(), transformer=StandardScaler())),
}
PEERS = ("auto", "fogd", "nogd", *REFITTED)


def draw(name: str, seed: int) -> Rows:
    rows, rng = rows_of(name), np.random.default_rng(seed)
    if DESIGN[name].in_time:
        first = int(rng.integers(0, len(rows.y) - LENGTH))
        order = np.arange(first, first + LENGTH)
    else:
        order = rng.permutation(len(rows.y))[:LENGTH]
    return rows._replace(X=rows.X[order], y=rows.y[order])


def refitted(kind: str, rows: Rows) -> np.ndarray:
    """Until there are two classes the newest label; of a regression the mean of the first two targets."""
    X, y, model, due = rows.X, rows.y, None, 2
    shown = np.zeros(len(y))
    for t in range(1, len(y)):
        if t >= due and (rows.regression or len(np.unique(y[:t])) > 1):
            model, due = make_pipeline(StandardScaler(), REFITTED[kind][rows.regression]()).fit(X[:t], y[:t]), t
            due += max(2, int(0.15 * t))
        shown[t] = y[t - 1] if model is None else model.predict(X[t : t + 1])[0]
    return shown


def errors(name: str, who: str) -> np.ndarray:
    """Of each of CUTS, the mean over draws."""
    found = []
    for seed in DRAWS:
        rows = draw(name, seed)
        if len(np.unique(rows.y)) < 2:
            continue
        shown = refitted(who, rows) if who in REFITTED else peer(who)(rows, 0, seed)().shown
        each = (shown - rows.y) ** 2 / rows.y.var() if rows.regression else (shown != rows.y).astype(float)
        each[0] = np.nan if rows.regression else each[0]  # nobody can predict the first value
        found.append([np.nanmean(each[first:stop]) for first, stop in CUTS])
    return np.mean(found, axis=0)


def main() -> None:
    warnings.filterwarnings("ignore")
    factors = []
    print("| data |", " | ".join(PEERS), "|\n| --- |", " | ".join(["---:"] * len(PEERS)), "|")
    for name in sys.argv[1:] or DESIGN:
        found = np.array([errors(name, who) for who in PEERS])
        factors.append(np.log(np.maximum(found, LEAST) / np.maximum(found[0], LEAST)))
        print(f"| {name} |", " | ".join(" / ".join(f"{e:.3f}" for e in one) for one in found), "|", flush=True)
    means = np.exp(np.mean(factors, axis=0))
    print("| factor |", " | ".join(" / ".join(f"{e:.3f}" for e in one) for one in means), "|")


if __name__ == "__main__":
    main()
