"""class_weight: rows count by their class, by weights that are given or by the counts so far."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

import kernelstream
from kernelstream import ALGORITHMS, OnlineKernelClassifier
from kernelstream.engine.state import leaves


def rare(n=3000, seed=0):
    """Two classes that overlap, one of them in 5 % of the rows."""
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n) < 0.05).astype(int)
    return rng.normal(size=(n, 2)) + 1.5 * y[:, None], y


def same_model(a, b):
    mine, theirs = leaves(a.learner_._state), leaves(b.learner_._state)
    return all(np.array_equal(mine[name], theirs[name]) for name in mine)


def weights_so_far(y, K):
    """n / (K n_c), from the definition."""
    return np.array([(t + 1) / (K * (y[: t + 1] == y[t]).sum()) for t in range(len(y))])


# Learners that take steps, but for those that rank, whose border is between the classes whatever these weigh.
OTHERS = ("koil", "opauc")
STEPS = [
    name
    for name, spec in ALGORITHMS.items()
    if hasattr(spec, "learning_rate") and "binary" in spec.tasks and name not in OTHERS
]


@pytest.mark.parametrize("name", STEPS)
def test_an_error_that_costs_more_is_made_less_often(name):
    """Of every learner that takes steps: what the errors cost in all, 1 and 19, is less where it was told so."""
    X, y = rare(1500)
    cost, paid = np.where(y == 1, 19.0, 1.0), {}
    for weight in (None, {1: 19.0}):
        clf = OnlineKernelClassifier(name, gamma=0.5, class_weight=weight, random_state=0)
        wrong = clf.predict_learn(X, y) != y
        paid[weight is None] = (cost * wrong)[500:].sum(), wrong[500:][y[500:] == 1].mean()
    assert paid[False][1] <= paid[True][1], "of the rare class fewer are missed"
    assert paid[False][0] < paid[True][0]


@pytest.mark.parametrize("name", [*STEPS, *OTHERS])
def test_no_weight_makes_a_step_too_long(name):
    X, y = rare(1000)
    clf = OnlineKernelClassifier(name, gamma=0.5, class_weight={1: 300.0}, random_state=0).fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize("name", ["fogd", "ridge"])
def test_balanced_finds_the_rare_class(name):
    X, y = rare()
    recall = {}
    for weight in (None, "balanced", {1: 19.0}):
        clf = OnlineKernelClassifier(name, gamma=0.5, class_weight=weight, random_state=0).fit(X[:2000], y[:2000])
        recall[str(weight)] = clf.predict(X[2000:])[y[2000:] == 1].mean()
    assert recall["balanced"] > recall["None"] + 0.15 and recall["{1: 19.0}"] > recall["None"] + 0.15


def test_balanced_is_by_the_rows_so_far_however_they_are_cut(tmp_path):
    X, y = rare(600)
    weights = weights_so_far(y, 2)
    assert weights[-1] == pytest.approx(compute_sample_weight("balanced", y)[-1]), "which has seen all rows"
    by_hand = OnlineKernelClassifier("fogd", gamma=0.5, random_state=0).fit(X, y, sample_weight=weights)
    for cuts in ([0, 600], [0, 1, 2, 300, 303, 600]):
        clf = OnlineKernelClassifier("fogd", gamma=0.5, class_weight="balanced", random_state=0)
        for start, stop in pairwise(cuts):
            clf.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
            clf.save(tmp_path / "clf.ks")
            clf = kernelstream.load(tmp_path / "clf.ks")
        assert clf.class_weight == "balanced" and same_model(clf, by_hand)
    given = np.random.default_rng(0).uniform(size=600)
    one = OnlineKernelClassifier("fogd", gamma=0.5, class_weight="balanced", random_state=0).fit(X, y, given)
    assert same_model(one, OnlineKernelClassifier("fogd", gamma=0.5, random_state=0).fit(X, y, given * weights))


def test_classes_that_come_later_count_from_then_on():
    X, y = rare(400)
    y = np.where(np.arange(400) > 200, 2 * y, y)
    y[:90] = 0  # of a block's classes those of the first are known from its first row
    first, new = (int(np.flatnonzero(y == label)[0]) for label in (1, 2))
    clf = OnlineKernelClassifier("fogd", gamma=0.5, class_weight="balanced", grow_classes=True, random_state=0)
    for part in np.array_split(np.arange(400), 5):
        clf.partial_fit(X[part], y[part])
    known = np.where(np.arange(400) >= new, 3, np.where(np.arange(400) >= first, 2, 1))
    plain = OnlineKernelClassifier("fogd", gamma=0.5, grow_classes=True, random_state=0)
    for part in np.array_split(np.arange(400), 5):
        plain.partial_fit(X[part], y[part], sample_weight=(weights_so_far(y, 1) / known)[part])
    assert same_model(clf, plain)
    assert sorted(clf.classes_) == [0, 1, 2]


def test_weights_by_label_in_files_and_clones(tmp_path):
    X, y = rare(600)
    words = np.array(["often", "rarely"])[y]
    clf = OnlineKernelClassifier("fogd", gamma=0.5, class_weight={"rarely": 5.0}, random_state=0).fit(X, words)
    by_hand = OnlineKernelClassifier("fogd", gamma=0.5, random_state=0).fit(X, words, np.where(y == 1, 5.0, 1.0))
    assert same_model(clf, by_hand)
    clf.save(tmp_path / "clf.ks")
    loaded = kernelstream.load(tmp_path / "clf.ks")
    assert loaded.class_weight == {"rarely": 5.0}
    assert same_model(loaded.partial_fit(X, words), clf.partial_fit(X, words))


def test_merged_counts_add_up():
    X, y = rare(1200)
    halves = [OnlineKernelClassifier("fogd", gamma=0.5, class_weight="balanced", random_state=0) for _ in "ab"]
    for half, part in zip(halves, (slice(0, 600), slice(600, 1200)), strict=True):
        half.partial_fit(X[part], y[part], classes=[0, 1])
    assert halves[0].merge(halves[1])._class_counts.tolist() == np.bincount(y).tolist()


@pytest.mark.parametrize(
    ("weight", "told"),
    [
        ("even", "class_weight='even' must be a dict"),
        ({0: -1.0}, r"-1.0 for 0; a weight is a number between 0 and 1e\+15"),
        ({0: "x"}, "class_weight has 'x' for 0; a weight is a number"),
        ({0: None}, "class_weight has None for 0; a weight is a number"),
        ({7: 2.0}, r"a weight for 7, which is not among the classes \[0, 1\]"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weight, told):
    X, y = rare(50)
    y[:2] = 0, 1
    with pytest.raises(ValueError, match=told):
        OnlineKernelClassifier("fogd", class_weight=weight).fit(X, y)
