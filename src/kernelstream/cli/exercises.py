"""Everything once, on few rows, so that it is compiled: learners with all that can be asked of them, and what is
around them.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..algorithms import ALGORITHMS
from ..engine import Algorithm
from ..engine.inputs import FITTED, SCALINGS
from ..engine.opening import LAST
from ..kernels import Laplacian
from ..laws.cases import Case, one_a_task, selection
from ..laws.examples import TASKS, composite_kernels, stream
from ..learner import Learner
from ..metrics import default_metrics, metrics_from
from ..sources import ArraySource, fit_scaling, open_source
from ..tasks import BINARY, MULTICLASS, REGRESSION

# Parameters that change which code runs, beside those that have a row of their own.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "fogd": ({"map": "structured"}, {"map": "binning", "kernel": Laplacian(gamma=0.3)}),
    "norma": ({"budget": 20},),
    "pegasos": ({"output": "average"},),
    "ridge": ({"solve": "exact"}, {"map": "nystrom"}, {"map": "structured"}, {"forget": 0.99}),
    "stack": ({"combine": "adahedge"}, {"combine": "squint"}, {"combine": "boa"}),
}
_SETTLING = LAST + 40  # rows after which all that a spec leaves to the data is settled
_AROUND = "ogd"  # the learner for what does not depend on it


def learner_exercises(name: str, dtype: str) -> Iterator[Callable[[], None]]:
    """What compiles a learner in one precision, in pieces of some seconds."""
    first = ALGORITHMS[name]
    for spec in (first, *(replace(first, **variant) for variant in VARIANTS.get(name, ()))):
        cases = selection(spec)
        for case in cases:
            yield lambda case=case: _learn(case, dtype)  # type: ignore[misc]
        for case in one_a_task(cases):
            yield lambda case=case: _ask(case, dtype)  # type: ignore[misc]
        yield lambda spec=spec: _as_it_comes(spec, dtype)  # type: ignore[misc]


def other_exercises(dtype: str) -> Iterator[Callable[[], None]]:
    """What is around learners: kernels made of others, scalings, rows of Python, files, metrics, transformers."""
    for case in selection(ALGORITHMS[_AROUND], composite_kernels()):
        yield lambda case=case: _learn(case, dtype)  # type: ignore[misc]
    for case in one_a_task(selection(ALGORITHMS[_AROUND])):
        for scaling in SCALINGS:
            yield lambda case=case, scaling=scaling: _scale(case, dtype, scaling)  # type: ignore[misc]
    yield _read
    yield _measure
    yield lambda: _transform(dtype)


def _learn(case: Case, dtype: str) -> None:
    """Learn and predict, rows that are dense and sparse, one and many. Steps may be too long for these rows."""
    X, y = stream(case.task)
    few = X[:4], y[:4]
    with contextlib.suppress(FloatingPointError):
        learner = case.learner(dtype)
        learner.learn(*few)
        learner.learn_late(*few, X[:4])
        learner.scores(X[:4])
    with contextlib.suppress(FloatingPointError):
        learner = case.learner(dtype)
        learner.learn(X, y)
        learner.learn(sp.csr_array(X), y, np.ones(len(y)))
        learner.scores(X)
        for row in (X[0], X[0].astype(np.float32)):
            learner.learn_one(row, y[0])
            learner.scores_one(row)


def _ask(case: Case, dtype: str) -> None:
    """All else that a learner is asked."""
    X, y = stream(case.task)
    with contextlib.suppress(FloatingPointError), tempfile.TemporaryDirectory() as directory:
        learner, twin = case.learner(dtype), case.learner(dtype)
        learner.learn(X.astype(np.float32), y)
        twin.learn(X[::-1], y[::-1])
        learner.show(X[:5])
        learner.predict(X[0], id=1)
        learner.label(1, y[0])
        learner.save(Path(directory) / "model.ks")
        fork = Learner.load(Path(directory) / "model.ks")
        fork.snapshot().scores(X)
        fork.learn(X[::-1], y[::-1])
        for other in (twin, fork):
            with contextlib.suppress(ValueError):  # some merge forks of one model alone, some others alone
                learner.merge(other)
        learner.learn(X, y)
        if case.task == REGRESSION:
            with contextlib.suppress(ValueError):  # most do not know
                learner.deviations(X)
            with contextlib.suppress(ValueError):
                learner.leave_one_out(X, y)
        else:
            learner.probabilities(X)
    growing = case.learner(dtype, grow_features=True, grow_classes=case.task == MULTICLASS)
    with contextlib.suppress(FloatingPointError):
        growing.learn(X[:40, :4], y[:40])
        growing.learn(X[40:], y[40:])


def _as_it_comes(spec: Algorithm, dtype: str) -> None:
    """With its own parameters, all that is left to the data."""
    for task in spec.tasks:
        X, y = stream(task, n=_SETTLING)
        with contextlib.suppress(FloatingPointError):
            learner = Learner(spec, TASKS[task](), dtype=dtype)
            for start in range(0, len(y), 100):
                learner.learn(X[start : start + 100], y[start : start + 100])
            learner.scores(X)


def _scale(case: Case, dtype: str, scaling: str) -> None:
    X, y = stream(case.task, n=_SETTLING)
    for rows in (X, X.astype(np.float32), sp.csr_array(X)):
        given = fit_scaling(ArraySource(rows, y), scaling) if scaling in FITTED else scaling
        learner = case.learner(dtype, scaling=given)
        learner.learn(rows, y)
        learner.learn_late(rows[:9], y[:9], rows[:9])
        learner.learn_one(X[0], y[0])
        learner.scores(rows)


def _read() -> None:
    """The formats that are parsed here."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.libsvm"
        path.write_text("1 1:0.5 3:2e-5 # first\n-1 qid:3 2:123456789012345678.9\n1 1:nan\n")
        for _ in open_source(path):
            pass


def _measure() -> None:
    y, shown = np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.5, 1.0])
    for metric in default_metrics(REGRESSION):
        metric.update(y, shown)
    for metric in metrics_from(["log_loss", "auc"], TASKS[BINARY]()):
        metric.update(np.array([-1, 1, 1]), np.array([[0.5, 0.5], [0.1, 0.9], [0.4, 0.6]]))


def _transform(dtype: str) -> None:
    from .. import estimators as face

    X, _ = stream(BINARY)
    kinds = (face.FourierFeatures, face.StructuredFeatures, face.NystromFeatures)
    for kind in (*kinds, face.OnlineKernelPCA, face.OnlineKernelKMeans):
        for rows in (X.astype(dtype), sp.csr_array(X.astype(dtype))):
            kind(8).fit(rows).transform(rows)
    face.OnlineScaler().fit(X.astype(dtype)).transform(X.astype(dtype))


def exercises(names: list[str], dtypes: list[str], *, around: bool) -> Iterator[tuple[str, Callable[[], None]]]:
    """All of it for some learners, each piece with words for it. around: also what they have around them."""
    for dtype in dtypes:
        for name in names:
            for piece in learner_exercises(name, dtype):
                yield f"{name} in {dtype}", piece
        for piece in other_exercises(dtype) if around else ():
            yield f"what is around them in {dtype}", piece
