"""Laws of metrics: scikit-learn's numbers, whatever the blocks; merging equals one pass; a state goes on exactly."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from kernelstream import FOGD, Binary, Learner, Multiclass, Regression
from kernelstream.evaluate import prequential
from kernelstream.evaluate.experiments import holdout, judged
from kernelstream.metrics import (
    AUC,
    F1,
    MAE,
    METRICS,
    MSE,
    R2,
    BalancedError,
    FadedMistakeRate,
    HingeLoss,
    Kappa,
    LogLoss,
    Metric,
    MistakeRate,
    metrics_from,
)
from kernelstream.metrics.faded import ALPHA
from kernelstream.metrics.intervals import LEVEL
from kernelstream.metrics.ranking import _bins
from kernelstream.numerics.conformal import RECENT, STEP
from kernelstream.reference.conformal import intervals
from kernelstream.sources import ArraySource, open_source

CLASSES = {"binary": ["no", "yes"], "multiclass": [1.0, 2.0, 5.0, 7.0], "regression": None}
EVERY = [(name, task) for name, kind in METRICS.items() for task in kind.tasks]


def rows(name, task, n=500, seed=0):
    """Labels, and what a metric needs to judge a guess at them that is often right."""
    draws = np.random.default_rng(seed)
    if task == "regression":
        y = draws.normal(7.0, 2.0, n)
        return y, y + draws.normal(size=n)
    classes = np.array(CLASSES[task])
    true = np.minimum(draws.integers(0, len(classes) + 1, n), len(classes) - 1)
    scores = draws.normal(size=(n, len(classes))) + 1.5 * np.eye(len(classes))[true]
    y = classes[true]
    if METRICS[name].needs == "labels":
        return y, classes[scores.argmax(axis=1)]
    if METRICS[name].needs == "scores":
        return y, np.round(scores[:, 1:] - scores[:, :1] if task == "binary" else scores, 1)
    return y, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def made(name, task):
    return METRICS[name](CLASSES[task])


def expected(name, task, y, shown):
    """What scikit-learn says."""
    fading = ALPHA ** np.arange(len(y))[::-1]
    positive = {"pos_label": "yes"} if task == "binary" else {"average": "macro"}
    if task == "regression":  # scikit-learn has no intervals of a stream: these are the reference's
        low, high = intervals(y - shown, LEVEL, RECENT, STEP).T
        held, finite = (low <= y - shown) & (y - shown <= high), np.isfinite(high)
        width, beyond = (high - low)[finite], np.maximum(np.maximum(low - (y - shown), y - shown - high), 0)[finite]
    return {
        "mistake_rate": lambda: 1 - sk.accuracy_score(y, shown),
        "balanced_error": lambda: 1 - sk.balanced_accuracy_score(y, shown),
        "kappa": lambda: sk.cohen_kappa_score(y, shown),
        "f1": lambda: sk.f1_score(y, shown, **positive),
        "log_loss": lambda: sk.log_loss(y, shown, labels=CLASSES[task]),
        "hinge_loss": lambda: sk.hinge_loss(y, shown[:, 0] if task == "binary" else shown, labels=CLASSES[task]),
        "auc": lambda: sk.roc_auc_score(y == "yes", shown[:, 0]),
        "mse": lambda: sk.mean_squared_error(y, shown),
        "rmse": lambda: sk.root_mean_squared_error(y, shown),
        "mae": lambda: sk.mean_absolute_error(y, shown),
        "r2": lambda: sk.r2_score(y, shown),
        "faded_mistake_rate": lambda: 1 - sk.accuracy_score(y, shown, sample_weight=fading),
        "faded_mae": lambda: sk.mean_absolute_error(y, shown, sample_weight=fading),
        "coverage": lambda: np.mean(held),
        "interval_width": lambda: np.mean(width),
        "interval_score": lambda: np.mean(width + 2 / (1 - LEVEL) * beyond),
    }[name]()


@pytest.mark.parametrize(("name", "task"), EVERY)
def test_every_metric_is_scikit_learns(name, task):
    y, shown = rows(name, task)
    assert made(name, task).update(y, shown).value == pytest.approx(expected(name, task, y, shown), rel=1e-12)


@pytest.mark.parametrize(("name", "task"), EVERY)
def test_every_metric_is_the_same_number_however_the_rows_are_cut(name, task):
    y, shown = rows(name, task)
    whole = made(name, task).update(y, shown)
    for size in (1, 3, 100):
        pieces = made(name, task)
        for start in range(0, 500, size):
            pieces.update(y[start : start + size], shown[start : start + size])
        assert (pieces.value, pieces.n) == (whole.value, 500)


OWN_INTERVALS = ("coverage", "interval_width", "interval_score")


@given(st.sampled_from([which for which in EVERY if which[0] not in OWN_INTERVALS]), st.integers(1, 60), st.data())
def test_merging_equals_one_pass(which, n, data):
    y, shown = rows(*which, n, seed=n)
    cut = data.draw(st.integers(0, n))
    whole = made(*which).update(y, shown)
    left, right = made(*which).update(y[:cut], shown[:cut]), made(*which).update(y[cut:], shown[cut:])
    assert left.merge(right) is left
    assert left.n == n
    exact = issubclass(METRICS[which[0]], BalancedError | Kappa | F1 | AUC)
    assert left.value == pytest.approx(whole.value, nan_ok=True, rel=0 if exact else 1e-12, abs=0)


@pytest.mark.parametrize("name", OWN_INTERVALS)
def test_rows_apart_have_intervals_of_their_own_and_merging_is_their_mean(name):
    y, shown = rows(name, "regression")
    left, right = (made(name, "regression").update(y[part], shown[part]) for part in (slice(200), slice(200, None)))
    early = 0 if name == "coverage" else 19  # infinite widths are not counted
    expected = np.average([left.value, right.value], weights=[200 - early, 300 - early])
    assert left.merge(right).value == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match=r"level 0.9 cannot be merged with that of 0.5"):
        left.merge(METRICS[name](level=0.5).update(y, shown))


@pytest.mark.parametrize(("name", "task"), EVERY)
def test_a_metric_goes_on_from_its_state_bit_for_bit(name, task):
    y, shown = rows(name, task)
    whole, first = made(name, task).update(y, shown), made(name, task).update(y[:77], shown[:77])
    again = METRICS[name]().restore(json.loads(json.dumps(first.state(), allow_nan=False)))
    assert again.state() == first.state()
    assert again.update(y[77:], shown[77:]).state() == whole.state()
    assert again.value == whole.value
    empty = made(name, task)
    assert METRICS[name]().restore(empty.state()).state() == empty.state()


@pytest.mark.parametrize(("name", "task"), EVERY)
def test_a_stream_without_rows_is_nan_and_a_fresh_metric_keeps_its_classes(name, task):
    y, shown = rows(name, task)
    metric = made(name, task).update(y, shown)
    for empty in (metric.fresh(), METRICS[name]().fresh(CLASSES[task]), made(name, task).update(y[:0], shown[:0])):
        assert math.isnan(empty.value)
        assert empty.n == 0
        assert empty.update(y, shown).value == metric.value


@pytest.mark.parametrize(("source", "task"), [("digits", "multiclass"), ("breast-cancer", "binary")])
def test_metrics_of_a_learner_on_real_data_are_scikit_learns(source, task):
    ((X, y),) = open_source(source)
    y = np.array(["no", "yes"])[y.astype(int)] if task == "binary" else y
    learner = Learner(
        FOGD(n_components=50), Binary(CLASSES["binary"]) if task == "binary" else Multiclass(np.unique(y))
    )
    scores = learner.learn(X, y)
    shown = learner.task.decode(scores)
    for metric in metrics_from(["mistake_rate", "balanced_error", "kappa", "f1"], learner.task):
        assert metric.update(y, shown).value == pytest.approx(expected(metric.name, task, y, shown), rel=1e-12)
    if task == "binary":
        assert AUC(["no", "yes"]).update(y, scores).value == pytest.approx(expected("auc", task, y, scores), rel=1e-12)


def test_labels_are_discovered_as_they_come_in_any_order():
    late, early = Kappa(), Kappa()
    late.update(["b"], ["b"]).update(["c", "a"], ["a", "c"]).update(["longer"], ["b"])
    early.update(["longer", "c", "a", "b"], ["b", "a", "c", "b"])
    assert late.value == early.value == sk.cohen_kappa_score(["b", "c", "a", "longer"], ["b", "a", "c", "b"])


def changed_counts(value):
    """The same JSON value with one of its whole numbers below zero, for each of them."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            for other in changed_counts(value[key]):
                copy = value.copy()
                copy[key] = other
                yield copy
    elif type(value) is int and value > 0:
        yield -value


@pytest.mark.parametrize(("name", "task"), EVERY)
def test_a_state_that_counts_below_zero_is_refused(name, task):
    state = json.loads(json.dumps(made(name, task).update(*rows(name, task, n=11_000)).state()))
    told = {key: value for key, value in state.items() if key not in ("classes", "labels", "bins", "positive")}
    wrong = list(changed_counts(told))
    assert wrong
    for one in wrong:
        with pytest.raises(ValueError, match=r"counts|kept|learned"):
            METRICS[name]().restore(state | one)


def test_words_may_come_as_objects_and_go_on_from_a_state():
    words = np.array(["b", "a", "b"], object)
    metric = Kappa().update(words, words[::-1])
    again = Kappa().restore(json.loads(json.dumps(metric.state())))
    assert again.update(words, words).value == metric.update(words.astype(str), words.astype(str)).value


def test_one_class_only_is_defined():
    same = (["a", "a"], ["a", "a"])
    half = (["a", "a"], ["a", "b"])
    assert [BalancedError().update(*rows).value for rows in (same, half)] == [0.0, 0.5]
    assert [Kappa().update(*rows).value for rows in (same, half)] == [0.0, 0.0]
    assert F1(["a", "b"]).update(*same).value == 0.0
    assert F1().update(*same).value == 1.0
    assert LogLoss(["a", "b"]).update(["a"], [[0.5, 0.5]]).value == pytest.approx(math.log(2))
    assert math.isnan(AUC(["a", "b"]).update(["a", "a"], [[1.0], [2.0]]).value)
    assert math.isnan(R2().update([3.0], [3.0]).value)
    assert [R2().update([3.0, 3.0], [3.0, shown]).value for shown in (3.0, 4.0)] == [1.0, 0.0]


def test_f1_is_of_the_positive_class_or_the_average_of_all():
    y, shown = [1, 2, 2, 1], [1, 2, 1, 1]
    assert F1().update(y, shown).value == sk.f1_score(y, shown, pos_label=2)
    assert F1([2, 1]).update(y, shown).value == sk.f1_score(y, shown, pos_label=1)
    assert F1([1, 2, 3]).update(y, shown).value == sk.f1_score(y, shown, average="macro")


def test_a_certain_mistake_costs_a_bounded_log_loss():
    assert LogLoss([0, 1]).update([1], [[1.0, 0.0]]).value == pytest.approx(-math.log(1e-15))
    assert LogLoss([1, 0]).update([1], [[1.0, 0.0]]).value == 0.0


def test_r2_does_not_cancel_far_from_zero():
    y, shown = np.array(rows("r2", "regression"))
    near, far = R2().update(y, shown).value, 2.0**30
    # The mean itself is rounded by 2^30 eps = 2e-7; sums of squares would be rounded by 2^60 eps = 256.
    assert R2().update(y + far, shown + far).value == pytest.approx(near, abs=1e-7)
    left, right = R2().update(y[:100] + far, shown[:100] + far), R2().update(y[100:] + far, shown[100:] + far)
    assert left.merge(right).value == pytest.approx(near, abs=1e-7)


@pytest.mark.parametrize("spread", [1.0, 1e-12, 1e12])
def test_auc_of_a_long_stream_is_that_of_all_its_rows_to_what_it_says_itself(spread):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40_000)
    scores = (spread * (rng.normal(size=40_000) + (y - 0.5) * np.linspace(4, 0, 40_000)))[:, None]
    whole = AUC([0, 1]).update(y, scores)
    assert abs(whole.value - sk.roc_auc_score(y, scores[:, 0])) <= whole.uncertainty
    assert whole.uncertainty < 1e-3
    assert AUC([0, 1]).update(y[-10_000:], scores[-10_000:]).value < whole.value - 0.05
    assert len(whole._bins) < 40_000 and len(whole._scores) == 0


def test_auc_does_not_depend_on_how_a_stream_is_cut_merged_or_kept():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 25_000)
    scores = rng.normal(size=(25_000, 1)) + y[:, None]
    whole = AUC([0, 1]).update(y, scores)
    cut, apart = AUC([0, 1]), AUC([0, 1])
    for rows in np.array_split(np.arange(25_000), 7):
        cut = AUC([0, 1]).restore(json.loads(json.dumps(cut.update(y[rows], scores[rows]).state())))
    for rows in (slice(9_000), slice(9_000, 21_000), slice(21_000, None)):
        apart.merge(AUC([0, 1]).update(y[rows], scores[rows]))
    assert cut.value == apart.value == whole.value
    assert cut.uncertainty == apart.uncertainty == whole.uncertainty
    assert AUC([0, 1]).update(y[:10_000], scores[:10_000]).uncertainty == 0


def test_bins_of_scores_follow_their_order():
    scores = np.sort(np.concatenate([np.random.default_rng(0).normal(size=5_000), [0.0, -0.0, 1e300, -1e300, np.inf]]))
    assert (np.diff(_bins(scores)) >= 0).all()


def test_auc_is_that_of_the_newest_rows_and_merged_rows_are_newer():
    y, scores = rows("auc", "binary")
    newest = AUC(CLASSES["binary"]).update(y[-50:], scores[-50:]).value
    cut = AUC(CLASSES["binary"], window=50).update(y[:480], scores[:480]).update(y[480:], scores[480:])
    assert (cut.value, cut.n) == (newest, 500)
    parts = [AUC(CLASSES["binary"], window=50).update(y[i], scores[i]) for i in (slice(470), slice(470, None))]
    assert parts[0].merge(parts[1]).value == newest
    assert parts[0].fresh().window == 50


def test_larger_is_better_says_which_way_a_metric_points():
    for name, task in EVERY:
        y, shown = rows(name, task)
        blind = np.roll(shown, 1, axis=0)
        better, worse = made(name, task).update(y, shown).value, made(name, task).update(y, blind).value
        assert (better > worse) == METRICS[name].larger_is_better


def test_metrics_are_made_by_name_for_a_task():
    task = Binary(["no", "yes"])
    made = metrics_from(["auc", "mistake_rate"], task)
    assert [metric.name for metric in made] == ["auc", "mistake_rate"]
    assert made[0].update(["no", "yes"], [[0.0], [1.0]]).value == 1.0
    assert metrics_from(["r2"], Regression())[0].classes is None


@pytest.mark.parametrize(
    ("names", "task", "message"),
    [
        (["accuracy"], Regression(), "'accuracy' is not a metric; choose from mse, rmse, mae, r2"),
        (["mse"], Binary([0, 1]), "'mse' does not judge a binary task; choose from mistake_rate, .*auc"),
        (["auc"], Multiclass([0, 1, 2]), "'auc' does not judge a multiclass task; choose from .*log_loss"),
        (["mae", "mae"], Regression(), "mae is named twice"),
        ([], Regression(), "no metric is named; choose from mse"),
    ],
)
def test_names_that_do_not_fit_the_task_are_refused(names, task, message):
    with pytest.raises(ValueError, match=message):
        metrics_from(names, task)


def test_runs_take_metrics_by_name_as_the_command_does():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    source, task = ArraySource(X, y), Binary([0, 1])
    for named in (["auc", MistakeRate()], ["auc", "mistake_rate"]):
        trace = prequential(Learner("fogd", task), source, metrics=named)
        assert list(trace.last.metrics) == ["auc", "mistake_rate"] and trace.headline == "mistake_rate"
    assert list(judged(Learner("fogd", task), source, metrics="kappa")) == ["kappa"]
    assert holdout(Learner("fogd", task), source, source, metrics="f1").headline == "f1"
    for wrong, message in (
        (["mistake_rat"], "did you mean mistake_rate"),
        (["rmse"], "does not judge a binary task"),
        ([MistakeRate], "give names of metrics, or objects such as MistakeRate"),
        ([], "no metric is named"),
    ):
        with pytest.raises(ValueError, match=message):
            prequential(Learner("fogd", task), source, metrics=wrong)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: AUC().update([0, 1], [[0.0], [1.0]]), r"must know the classes.*AUC\(classes\)"),
        (lambda: AUC([0, 1, 2]), "compares two classes, not 3"),
        (lambda: AUC([0, 1], window=1), "window=1 is too short"),
        (lambda: AUC([0, 1]).update([0], [[0.0, 1.0]]), "got 2 scores a row"),
        (lambda: AUC([0, 1]).update([0], [[math.nan]]), "NaN in row 0"),
        (lambda: AUC([0, 1]).update([0], [0.5]), "scores and probabilities two"),
        (lambda: AUC([0, 1]).update([0, 2], [[0.0], [1.0]]), "Row 1: the label 2 is not among the classes"),
        (lambda: AUC([0, 1]).merge(AUC([0, 1], window=5)), "window differs, None here and 5 there"),
        (lambda: F1([0, 1]).merge(F1([1, 0])), "classes differ"),
        (lambda: LogLoss([0, 1]).update([0], [[0.5, 0.2, 0.3]]), "3 columns for 2 classes"),
        (lambda: HingeLoss([0, 1, 2]).update([0], [[0.5, 0.2]]), "2 columns for 3 classes"),
        (lambda: LogLoss([0, 1]).update([0], [[1.5, 0.2]]), "the probability 1.5"),
        (lambda: Kappa().update(["1"], [1]), "text never equals a number"),
        (lambda: Kappa().update([1], [1]).update(["1"], ["1"]), "text never equals a number"),
        (lambda: MSE().restore(MAE().state()), "a state of mae is not one of mse"),
    ],
)
def test_metrics_refuse_what_does_not_fit(act, message):
    with pytest.raises(ValueError, match=message):
        act()


def test_a_refused_block_changes_nothing():
    y, shown = rows("r2", "regression")
    for metric in (R2().update(y, shown), AUC([0, 1]).update([0, 1], [[0.0], [1.0]]), Kappa().update([1, 2], [1, 2])):
        before = metric.state()
        with pytest.raises(ValueError):
            metric.update(["a"], [[math.nan]] if metric.needs == "scores" else [1.0])
        assert metric.state() == before


def test_a_metric_of_your_own_has_a_name_and_errors():
    class Shift(Metric):
        name = "shift"

        def errors(self, y_true, shown):
            return shown - y_true

    metric = Shift().update(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    assert (metric.value, metric.needs, metric.larger_is_better) == (1.5, "labels", False)
    assert Shift().restore(metric.state()).value == 1.5


def test_a_faded_error_follows_a_change_and_a_plain_one_lags():
    y = np.zeros(3000)
    shown = np.r_[np.zeros(2000), np.ones(1000)]
    faded, quick = FadedMistakeRate().update(y, shown), FadedMistakeRate(alpha=0.99).update(y, shown)
    assert MistakeRate().update(y, shown).value == 1 / 3 < 0.6 < faded.value < 0.7 < 0.9999 < quick.value < 1
    assert quick.fresh().alpha == 0.99
    with pytest.raises(ValueError, match=r"alpha differs, 0\.999 here and 0\.99 there"):
        faded.merge(quick)
    with pytest.raises(ValueError, match="alpha=0 must be above 0"):
        FadedMistakeRate(alpha=0)
