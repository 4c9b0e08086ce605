"""Few labels: only what is asked for is learned, all rows are judged, and rules choose better than chance."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kernelstream import FOGD, Binary, Learner, Multiclass, Perceptron, Regression, Ridge
from kernelstream.evaluate import Asking, AtRandom, ByMargin, BySpread, prequential
from kernelstream.evaluate.asking import rule_of
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import snapshot
from kernelstream.metrics import AskedRate, MistakeRate
from kernelstream.sources import open_source

X, Y = load_digits(return_X_y=True)
X, Y = X / 16.0, np.where(Y % 2 == 1, 1, -1)
KERNEL = Gaussian(gamma=0.2)
LABELS = frozenset({"labels"})


def perceptron():
    return Learner(Perceptron(kernel=KERNEL), Binary([-1, 1]))


def ridge():
    return Learner(Ridge(kernel=KERNEL, n_components=80, solve="exact"), Binary([-1, 1]))


def errors(learner, rule, seed=0):
    asking = Asking(learner, rule, seed=seed)
    shown = asking.learn(X, Y, LABELS)["labels"]
    return asking.share, np.mean(shown != Y)


def test_a_label_that_is_not_asked_for_changes_nothing():
    """Labels are turned round where they were not asked for: the same model, which saw so many rows."""
    asking = Asking(perceptron(), ByMargin(b=1.0), seed=3)
    asked = []
    for t in range(400):
        before = asking.asked
        asking.learn(X[t : t + 1], Y[t : t + 1], LABELS)
        asked.append(asking.asked > before)
    other = Asking(perceptron(), ByMargin(b=1.0), seed=3)
    other.learn(X[:400], np.where(asked, Y[:400], -Y[:400]), LABELS)
    assert 0 < asking.asked < 400 and asking.asked == asking.learner.n_seen
    assert snapshot(asking.learner) == snapshot(other.learner)


def test_blocks_have_no_effect():
    whole, cut = (Asking(perceptron(), ByMargin(b=0.5)) for _ in range(2))
    shown = whole.learn(X[:300], Y[:300], LABELS)["labels"]
    parts = [cut.learn(X[t : t + 6], Y[t : t + 6], LABELS)["labels"] for t in range(0, 300, 6)]
    assert np.array_equal(shown, np.concatenate(parts))
    assert whole.asked == cut.asked and snapshot(whole.learner) == snapshot(cut.learner)


def test_all_labels_are_the_learner_itself():
    asking, plain = Asking(perceptron(), AtRandom(share=1.0)), perceptron()
    shown = asking.learn(X, Y, LABELS)["labels"]
    assert np.array_equal(shown, plain.task.decode(plain.learn(X, Y)))
    assert asking.share == 1.0


@pytest.mark.parametrize(("learner", "rule"), [(perceptron, ByMargin(b=0.2)), (ridge, ByMargin(b=0.05))])
def test_unsure_rows_teach_more_than_random_ones(learner, rule):
    """Over five seeds, with as many labels."""
    found = [errors(learner(), rule, seed) for seed in range(5)]
    share = np.mean([share for share, _ in found])
    control = [errors(learner(), AtRandom(share=share), seed)[1] for seed in range(5)]
    assert share < 0.5
    assert np.mean([error for _, error in found]) < np.mean(control)


def test_the_margin_of_several_classes_is_between_the_first_two():
    rule = ByMargin(b=1.0)
    assert rule.chance(None, None, np.array([0.5, -1.0, 3.5]), seen=1) == 0.25
    assert rule.chance(None, None, np.zeros(3), seen=1) == 1.0


def test_spreads_are_what_the_rows_so_far_leave_open():
    """z'Pz with P = (sum z z' + ridge)^-1, from the model's own features; they fall, and ask for less and less."""
    learner = ridge()
    assert np.isinf(learner.spreads(X[:3])).all()
    learner.learn(X[:200], Y[:200])
    few = learner.spreads(X[300:320])
    deviations = learner.deviations(X[300:320])[:, 0] ** 2
    assert np.allclose(deviations[0] / deviations, (1.0 + few[0]) / (1.0 + few))
    learner.learn(X[200:], Y[200:])
    assert (learner.spreads(X[300:320]) < few).all()
    asking = Asking(ridge(), BySpread(kappa=0.15))
    asking.learn(X[:900], Y[:900], LABELS)
    half = asking.asked
    asking.learn(X[900:], Y[900:], LABELS)
    assert 0 < asking.asked - half < half < 900


def test_a_run_of_it_is_judged_on_all_rows():
    asking = Asking(Learner(FOGD(n_components=100), Multiclass(range(10)), scaling="online"), ByMargin(b=0.5))
    trace = prequential(asking, open_source("digits"))
    assert trace.last.rows == asking.seen == 1797
    assert asking.asked == asking.learner.n_seen < 1700
    assert trace.algorithm == "fogd, ByMargin(b=0.5)"
    assert trace.last.metrics["mistake_rate"] < 0.3


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("margin", ByMargin()),
        ("margin:b=0.3", ByMargin(b=0.3)),
        ("spread:kappa=0.2", BySpread(kappa=0.2)),
        ("random:share=1", AtRandom(share=1.0)),
    ],
)
def test_rules_go_by_words(text, rule):
    assert rule_of(text) == rule


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("margins", r"did you mean margin\? Choose one of margin, spread, random"),
        ("margin:kappa=0.2", r"'kappa=0\.2'; margin has b, a number: ask='margin:b=0\.2'"),
        ("random:share", "'share'; random has share"),
        ("random:share=some", "'share=some'; random has share"),
        ("random:share=2", r"share=2\.0 is a share"),
    ],
)
def test_words_that_are_no_rule_are_refused(text, words):
    with pytest.raises(ValueError, match=words):
        rule_of(text)


def test_the_share_is_measured_along_a_run():
    asking = Asking(Learner("rbp", Multiclass(range(10)), scaling="online"), ByMargin(b=0.5))
    trace = prequential(asking, open_source("digits"), metrics=[AskedRate(), MistakeRate()])
    assert trace.headline == "mistake_rate"
    assert trace.last.metrics["asked_rate"] == asking.share
    course = trace.course("asked_rate")
    assert (course.window[-1] < course.window[0]) and course.so_far[-1] == asking.share


def test_a_learner_that_goes_on_asks_as_if_it_had_not_stopped():
    whole, first = (Asking(perceptron(), ByMargin(b=0.5), seed=4) for _ in range(2))
    expected = whole.learn(X[:400], Y[:400], LABELS)["labels"][150:]
    first.learn(X[:150], Y[:150], LABELS)
    second = Asking(first.learner, ByMargin(b=0.5), seed=4, seen=150)
    assert np.array_equal(second.learn(X[150:400], Y[150:400], LABELS)["labels"], expected)
    assert (second.seen, second.asked) == (whole.seen, whole.asked)
    assert snapshot(second.learner) == snapshot(whole.learner)


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="regression"):
        Asking(Learner("fogd", Regression()), ByMargin())
    with pytest.raises(ValueError, match="delay=0"):
        prequential(Asking(perceptron(), ByMargin()), open_source("digits"), delay=3)
    with pytest.raises(ValueError, match=r"share=1\.5"):
        AtRandom(share=1.5)
    with pytest.raises(ValueError, match="b=0"):
        ByMargin(b=0)
    for known in (False, True):
        learner = perceptron()
        if known:
            learner.learn(X[:10], Y[:10])
        with pytest.raises(ValueError, match="ridge"):
            learner.spreads(X[:1])
