"""What others offer that is nearest to a learner: scikit-learn's pipelines on chunks, River's one row at a time."""

from collections.abc import Callable
from typing import Any

import scipy.sparse as sp
from river import compose, feature_extraction, linear_model
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier

from .cases import BUDGET, Case

CHUNK = 256
SKLEARN_ROWS, RIVER_ROWS = 4096, 40  # their rates do not depend on the row
MISTAKE_DRIVEN = ("perceptron", "budget-perceptron", "rbp", "forgetron", "projectron", "projectron++")
PASSIVE_AGGRESSIVE = ("pa-1", "pa-2", "bpa-s", "bpa-p", "bpa-nn")


def _features(case: Case) -> int:
    """Random features of a learner that has them; else its points, or BUDGET where they are without a bound."""
    spec = case.spec
    return 2 * spec.n_components if hasattr(spec, "n_components") else getattr(spec, "budget", None) or BUDGET


def sklearn_words(case: Case) -> str:
    kind = "RBFSampler" if hasattr(case.spec, "n_components") else "Nystroem"
    loss = "perceptron" if case.learner in MISTAKE_DRIVEN else "hinge"
    return f'{kind}({_features(case):,}) + SGDClassifier("{loss}")'


def sklearn_work(case: Case) -> Callable[[], Callable[[], None]]:
    """Transform a chunk of float32 rows, `partial_fit` on it. Fitting the transformer is not timed."""
    kind = RBFSampler if hasattr(case.spec, "n_components") else Nystroem
    loss = "perceptron" if case.learner in MISTAKE_DRIVEN else "hinge"
    X, y = case.X[:SKLEARN_ROWS], case.y[:SKLEARN_ROWS]
    n = min(_features(case), len(y))
    transformer = kind(n_components=n, gamma=case.spec.kernel.settled_gamma, random_state=0).fit(X)
    classes = sorted(set(case.data.y.tolist()))

    def work() -> Callable[[], None]:
        model = SGDClassifier(loss=loss, random_state=0)

        def run() -> None:
            for start in range(0, len(y), CHUNK):
                rows = slice(start, start + CHUNK)
                model.partial_fit(transformer.transform(X[rows]), y[rows], classes=classes)

        return run

    return work


def _river_head(case: Case) -> Any:
    if case.learner in MISTAKE_DRIVEN:
        return linear_model.Perceptron()
    return linear_model.PAClassifier() if case.learner in PASSIVE_AGGRESSIVE else linear_model.LogisticRegression()


def river_words(case: Case) -> str:
    return f"RBFSampler({_features(case):,}) + {type(_river_head(case)).__name__}"


def river_work(case: Case) -> Callable[[], Callable[[], None]]:
    """`predict_one` and `learn_one` on two classes. River's sampler makes its components for each feature anew, so as
    many are asked for as give the learner's number of features in all.
    """
    rows = case.X[:RIVER_ROWS]
    rows = rows.toarray() if sp.issparse(rows) else rows
    rows, labels = [dict(enumerate(row.tolist())) for row in rows], (case.y[:RIVER_ROWS] > 0).tolist()
    components = max(1, _features(case) // case.data.width)
    gamma = case.spec.kernel.settled_gamma

    def work() -> Callable[[], None]:
        sampler = feature_extraction.RBFSampler(gamma=gamma, n_components=components, seed=0)
        model = compose.Pipeline(sampler, _river_head(case))

        def run() -> None:
            for x, label in zip(rows, labels, strict=True):
                model.predict_one(x)
                model.learn_one(x, label)

        return run

    return work
