"""Who is compared: each takes raw rows and shows a label or value for each, from before the row was learned.

A peer is a function of (rows, delay, seed) that makes all ready (imports, compiling) and returns what is then timed.
The label of row t comes after row t + delay has been predicted.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from kernelstream import FOGD, NOGD, Binary, Learner, Multiclass, Regression
from kernelstream.algorithms import as_algorithm
from kernelstream.kernels import Gaussian

from .errors import errors_of
from .sets import Rows

TREES, RIVER_TREES = 30, 10
BLOCK, SAMPLED = 100, 1000  # rows at a time, and components, of scikit-learn's
FOLDED = 4_000  # rows of the first half on which the SVM's settings are chosen
WIDTHS = (1 / 16, 1 / 4, 1, 4, 16)  # gamma times the number of features, all of variance 1
CLASS_STEPS = (1 / 32, 1 / 8, 1 / 2, 2, 8, 32)
VALUE_STEPS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
SETTINGS = len(WIDTHS) * len(CLASS_STEPS)


class Answer(NamedTuple):
    shown: np.ndarray  # (n,); NaN where nothing is
    chances: np.ndarray | None = None  # (n, classes)
    setting: str = ""


Run = Callable[[], Answer]
Peer = Callable[[Rows, int, int], Run]


def _unknown(rows: Rows) -> float:
    """What is shown before there is anything to show."""
    return 0.0 if rows.regression else float(rows.y.min())


def no_change(rows: Rows, delay: int, seed: int) -> Run:
    """The newest label that is known; before there is one the smallest class, or 0."""
    y = rows.y
    unknown = np.full(min(len(y), delay + 1), _unknown(rows))
    return lambda: Answer(np.concatenate([unknown, y])[: len(y)])


def ours(algorithm: Any, rows: Rows, delay: int, seed: int, *, scaling: str = "none") -> Run:
    """A learner of this library, in one thread; before it knows a label it shows what others show."""
    classes = np.unique(rows.y)
    task = Regression() if rows.regression else Binary(classes) if len(classes) == 2 else Multiclass(classes)
    learner, twin = (Learner(algorithm, task, seed=seed, scaling=scaling, threads=1) for _ in range(2))
    twin.warm_up(late=delay > 0)
    twin.learn(rows.X[:64], rows.y[:64])
    n = len(rows.y) - delay

    def run() -> Answer:
        if delay == 0:
            scores = learner.learn(rows.X, rows.y)
        else:
            ahead = learner.scores(rows.X[:delay])
            scores = np.concatenate([ahead, learner.learn_late(rows.X[:n], rows.y[:n], rows.X[delay:])])
        chances = learner.algorithm.models_probabilities and not rows.regression
        shown = task.decode(scores)
        shown[:delay] = _unknown(rows)
        return Answer(shown, learner.probabilities_of(scores) if chances else None)

    return run


def tuned(spec: Any, rows: Rows, delay: int, seed: int) -> Run:
    """The best of 30 settings, in hindsight: by the error over all rows, which are standardised by all of them."""
    X = (rows.X - rows.X.mean(axis=0)) / np.where(rows.X.std(axis=0) > 0, rows.X.std(axis=0), 1.0)
    center, unit = (rows.y.mean(), rows.y.std()) if rows.regression else (0.0, 1.0)
    scaled = rows._replace(X=X, y=(rows.y - center) / unit if rows.regression else rows.y)

    def run() -> Answer:
        best, least = Answer(np.full(len(rows.y), np.nan)), np.inf
        for width, rate in product(WIDTHS, VALUE_STEPS if rows.regression else CLASS_STEPS):
            chosen = replace(spec, kernel=Gaussian(gamma=width / X.shape[1]), learning_rate=rate)
            try:
                shown = ours(chosen, scaled, delay, seed)().shown
            except FloatingPointError:
                continue
            error = errors_of(shown, scaled.y, regression=rows.regression)[0]
            if error < least:
                best, least = Answer(shown * unit + center, setting=f"gamma {width:g}/d, step {rate:g}"), error
        return best

    return run


def svm(rows: Rows, delay: int, seed: int) -> Run:
    """scikit-learn's SVM on the standardised first half, its settings by three folds of at most 4,000 rows of it."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    kind = SVR if rows.regression else SVC
    model: Any = make_pipeline(StandardScaler(), kind(cache_size=1000))
    prefix = kind.__name__.lower()
    if rows.regression:
        model, prefix = TransformedTargetRegressor(model, transformer=StandardScaler()), f"regressor__{prefix}"
    grid = {
        f"{prefix}__gamma": [g / rows.X.shape[1] for g in (1 / 16, 1 / 4, 1, 4)],
        f"{prefix}__C": [1.0, 10.0, 100.0],
    }
    half = len(rows.y) // 2

    def run() -> Answer:
        few = np.random.default_rng(seed).permutation(half)[:FOLDED]
        search = GridSearchCV(model, grid, cv=3, refit=False).fit(rows.X[few], rows.y[few])
        fitted = model.set_params(**search.best_params_).fit(rows.X[:half], rows.y[:half])
        found = ", ".join(f"{name.split('__')[-1]} {value:.3g}" for name, value in search.best_params_.items())
        return Answer(_second_half(fitted, rows), setting=found)

    return run


def lightgbm(rows: Rows, delay: int, seed: int) -> Run:
    """LightGBM with its defaults on the first half."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if rows.regression else LGBMClassifier
    half = len(rows.y) // 2

    def run() -> Answer:
        model = kind(n_jobs=1, random_state=seed, verbose=-1).fit(rows.X[:half], rows.y[:half])
        return Answer(_second_half(model, rows))

    return run


def _second_half(model: Any, rows: Rows) -> np.ndarray:
    half = len(rows.y) // 2
    return np.concatenate([np.full(half, np.nan), model.predict(rows.X[half:])])


def scikit_learn(kind: str, rows: Rows, delay: int, seed: int) -> Run:
    """scikit-learn's by `partial_fit`, a block of BLOCK rows at a time, each predicted first: "SGD" on RBFSampler's
    features, or "MLP", with their defaults. Features are standardised as they come, a regression's targets by its
    first block. Requires: no delay.
    """
    from sklearn import linear_model, neural_network
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.preprocessing import StandardScaler

    name = kind + ("Regressor" if rows.regression else "Classifier")
    model = getattr(linear_model if kind == "SGD" else neural_network, name)(random_state=seed)
    center, unit = (rows.y[:BLOCK].mean(), rows.y[:BLOCK].std() or 1.0) if rows.regression else (0.0, 1.0)
    known = {} if rows.regression else {"classes": np.unique(rows.y)}
    scaler, sampler = StandardScaler(), RBFSampler(gamma="scale", n_components=SAMPLED, random_state=seed)

    def run() -> Answer:
        shown = np.full(len(rows.y), 0.0 if rows.regression else rows.y.min())
        for first in range(0, len(rows.y), BLOCK):
            X, y = rows.X[first : first + BLOCK], rows.y[first : first + BLOCK]
            if first > 0:
                Z = scaler.transform(X)
                shown[first : first + BLOCK] = model.predict(sampler.transform(Z) if kind == "SGD" else Z)
            Z = scaler.partial_fit(X).transform(X)
            if kind == "SGD":
                Z = (sampler if first > 0 else sampler.fit(Z)).transform(Z)
            model.partial_fit(Z, (y - center) / unit if rows.regression else y, **(known if first == 0 else {}))
        if rows.regression:
            shown[BLOCK:] = center + unit * shown[BLOCK:]
            shown[:BLOCK] = center
        return Answer(shown)

    return run


def river(rows: Rows, delay: int, seed: int) -> Run:
    """River's adaptive random forest of ten trees; of a regression with its features standardised as they come, which
    the linear models in the leaves need.
    """
    from river import forest, preprocessing

    if rows.regression:
        model: Any = preprocessing.StandardScaler() | forest.ARFRegressor(n_models=RIVER_TREES, seed=seed)
    else:
        model = forest.ARFClassifier(n_models=RIVER_TREES, seed=seed)
    given = [dict(enumerate(x)) for x in rows.X.tolist()]
    return lambda: Answer(_one_by_one(model.predict_one, model.learn_one, given, rows, delay))


def capymoa(names: tuple[str, str | None], rows: Rows, delay: int, seed: int) -> Run:
    """An ensemble of CapyMOA with thirty members: the name of its classifier, and of its regressor."""
    # Its virtual machine collects garbage in the thread that learns: what is timed is one core.
    os.environ.setdefault("CAPYMOA_JVM_ARGS", "-Xmx4g -Xss10M -XX:+UseSerialGC")
    from capymoa import classifier, regressor
    from capymoa.stream import NumpyStream

    room, name = (regressor, names[1]) if rows.regression else (classifier, names[0])
    classes, codes = np.unique(rows.y, return_inverse=True)
    targets, kind = (rows.y, "numeric") if rows.regression else (codes, "categorical")
    stream = NumpyStream(rows.X, targets, target_type=kind)
    model = getattr(room, str(name))(schema=stream.get_schema(), ensemble_size=TREES, random_seed=seed + 1)

    def label(instance: Any) -> Any:
        found = model.predict(instance)
        return found if rows.regression or found is None else classes[found]

    return lambda: Answer(_one_by_one(label, lambda x, _: model.train(x), list(stream), rows, delay))


def _one_by_one(
    predict: Callable[[Any], Any], learn: Callable[[Any, Any], Any], given: list[Any], rows: Rows, delay: int
) -> np.ndarray:
    """What is shown of each row; one that gets no answer is the smallest class, or 0."""
    unknown, labels = _unknown(rows), rows.y.tolist()
    shown = np.empty(len(labels))
    for t, x in enumerate(given):
        found = predict(x)
        shown[t] = unknown if found is None else found
        if t >= delay:
            learn(given[t - delay], labels[t - delay])
    return shown


PEERS: dict[str, Peer] = {
    "no change": no_change,
    "fogd tuned": partial(tuned, FOGD()),
    "nogd tuned": partial(tuned, NOGD()),
    "svm": svm,
    "lightgbm": lightgbm,
    "sgd": partial(scikit_learn, "SGD"),
    "mlp": partial(scikit_learn, "MLP"),
    "river arf": river,
    "arf": partial(capymoa, ("AdaptiveRandomForestClassifier", "AdaptiveRandomForestRegressor")),
    "srp": partial(capymoa, ("StreamingRandomPatches", "SOKNL")),
    "leveraging bagging": partial(capymoa, ("LeveragingBagging", None)),
}
PACKAGES = {
    "lightgbm": "lightgbm",
    "river arf": "river",
    **dict.fromkeys(("svm", "sgd", "mlp"), "scikit-learn"),
    **dict.fromkeys(("arf", "srp", "leveraging bagging"), "capymoa"),
}


def peer(name: str) -> Peer:
    """A peer, or a learner of this library by its name: with its defaults, `auto` on raw rows and others on rows that
    are scaled as they come.
    """
    if name in PEERS:
        return PEERS[name]
    return partial(ours, as_algorithm(name), scaling="none" if name == "auto" else "online")
