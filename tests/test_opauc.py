"""OPAUC: its step is the mean over all pairs, its sums are those of the rows, and it ranks a rare class."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from kernelstream import FOGD, OPAUC, Binary, Learner
from kernelstream.kernels import Gaussian

X, LABELS = load_digits(return_X_y=True)
X, Y = X / 16.0, np.where(LABELS == 8, 1, -1)
KERNEL = Gaussian(gamma=0.2)


def opauc(**parameters):
    return Learner(OPAUC(kernel=KERNEL, **{"n_components": 20, **parameters}), Binary([-1, 1]), dtype="float64")


def lifted(learner, rows):
    u = learner._state.map.frequencies
    return np.hstack([np.sin(rows @ u), np.cos(rows @ u)])


def test_a_step_is_the_mean_of_steps_on_all_pairs():
    """Each pair by itself, from the scores' differences alone."""
    learner = opauc(learning_rate=0.3)
    learner.learn(X[:60], Y[:60])
    before = learner._state.weights[0].copy()
    learner.learn(X[60:61], Y[60:61])
    others = X[:60][Y[:60] != Y[60]]
    apart = Y[60] * (lifted(learner, X[60:61]) - lifted(learner, others))
    slopes = -(1.0 - apart @ before)[:, None] * apart
    expected = before - 0.3 / 20 * slopes.mean(axis=0)
    assert np.allclose(learner._state.weights[0], expected, atol=1e-12)
    assert np.isclose(learner.losses[-1], np.mean((1.0 - apart @ before) ** 2) / 2)


def test_weights_count_as_so_many_rows_in_means_and_scatters_and_merges_add_them():
    weights = np.random.default_rng(0).integers(1, 4, 100)
    heavy, several = opauc(), opauc()
    heavy.learn(X[:100], Y[:100], weights.astype(float))
    several.learn(np.repeat(X[:100], weights, axis=0), np.repeat(Y[:100], weights))
    first, second = opauc(), opauc()
    first.learn(X[:40], Y[:40], weights[:40].astype(float))
    second.learn(X[40:100], Y[40:100], weights[40:].astype(float))
    first.merge(second)
    for other in (several, first):
        for leaf in ("counts", "means", "scatter"):
            assert np.allclose(getattr(heavy._state, leaf), getattr(other._state, leaf), atol=1e-10), leaf


def test_a_weight_below_one_scales_the_first_step_and_one_above_never_goes_too_far():
    first = opauc(), opauc(), opauc()
    for learner, weight in zip(first, (1.0, 0.25, 1e6), strict=True):
        learner.learn(X[7:9], [-1, 1], [1.0, weight])  # the first row has no pair
    once, partly, most = (learner.scores(X) for learner in first)
    assert np.allclose(partly, 0.25 * once, atol=1e-12)
    assert np.isclose(np.diff(most[7:9, 0])[0], 1.0)  # the pair's margin: its loss is none


def test_classes_stand_on_both_sides_of_the_threshold():
    learner = opauc()
    learner.learn(X, Y)
    middles = [learner._state.weights[0] @ c + float(learner._state.bias) for c in learner._state.means]
    assert np.isclose(middles[0], -middles[1]) and middles[1] > 0.1


def test_a_rare_class_is_ranked_better_than_by_gradient_steps_on_rows():
    """One of ten digits, 30 frequencies, one pass; five seeds."""
    areas = {}
    for kind in (OPAUC, FOGD):
        learners = [Learner(kind(kernel=KERNEL, n_components=30), Binary([-1, 1]), seed=seed) for seed in range(5)]
        areas[kind] = np.mean([roc_auc_score(Y, learner.learn(X, Y)[:, 0]) for learner in learners])
    assert areas[OPAUC] > areas[FOGD] + 0.02
    assert areas[OPAUC] > 0.85
