"""Laws of tuning: better than the defaults, the same for a seed whatever the processes, never ended by divergence."""

import functools
import math
import tomllib

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression
from kernelstream.evaluate.run import prequential
from kernelstream.evaluate.settings import flat, spec_from
from kernelstream.evaluate.space import space
from kernelstream.evaluate.tune import DIVERGED, FINISHED, HALVED, plan, read_config, subset, tune, write_config
from kernelstream.sources import ArraySource, LibsvmSource, Shuffled, open_source

TASKS = {
    "digits": Multiclass(np.arange(10.0)),
    "breast-cancer": Binary(np.array([0.0, 1.0])),
    "diabetes": Regression(),
}


@functools.cache
def shuffled(name):
    """All rows in a random order, each feature within 1."""
    ((X, y),) = Shuffled(open_source(name), 1, block_rows=10_000)
    return X / np.maximum(np.abs(X).max(axis=0), 1e-9), y


@pytest.mark.parametrize(
    ("data", "algorithm"),
    [("digits", "fogd"), ("breast-cancer", "pegasos"), ("diabetes", "norma")],
)
def test_the_tuned_setting_beats_the_defaults_on_rows_that_were_not_used(data, algorithm):
    X, y = shuffled(data)
    half, task = len(y) // 2, TASKS[data]
    tuned = tune(algorithm, X[:half], y[:half], task, jobs=1)

    def value(settings):
        learner = Learner(spec_from(algorithm, settings), task)
        return prequential(learner, ArraySource(X[half:], y[half:])).last.metrics[tuned.metric]

    assert value(tuned.settings) < value(())
    assert tuned.value < tuned.trials[0].value


def outline(tuned):
    return tuned._replace(trials=[trial._replace(seconds=0.0) for trial in tuned.trials])


def test_the_outcome_depends_on_the_seed_and_not_on_the_number_of_processes():
    X, y = shuffled("digits")
    seen = {}

    def run(jobs, seed):
        seen[jobs, seed] = []
        options = {"trials": 9, "seed": seed, "jobs": jobs, "settings": ["n_components=30"]}
        report = seen[jobs, seed].append
        return outline(
            tune("fogd", X, y, TASKS["digits"], **options, on_trial=lambda t: report(t._replace(seconds=0.0)))
        )

    alone, together, other = run(1, 0), run(2, 0), run(1, 1)
    assert alone == together
    assert seen[1, 0] == seen[2, 0]
    assert alone.trials != other.trials


def test_a_search_with_processes_can_be_left_and_begun_again():
    X, y = shuffled("digits")
    X, y = np.tile(X, (3, 1)).astype(np.float32), np.tile(y, 3)
    assert X.nbytes > 2**20, "large enough to be mapped by the processes"

    def leave(trial):
        raise KeyboardInterrupt

    options = {"trials": 4, "settings": ["n_components=30"]}
    with pytest.raises(KeyboardInterrupt):
        tune("fogd", X, y, TASKS["digits"], jobs=2, on_trial=leave, **options)
    alone, together = (tune("fogd", X, y, TASKS["digits"], jobs=jobs, **options) for jobs in (1, 2))
    assert outline(alone) == outline(together)


def test_halving_gives_more_rows_to_fewer_trials_and_the_defaults_stay():
    assert plan(32, 10_000) == [(32, 370), (12, 1111), (5, 3333), (3, 10_000)]
    assert plan(9, 500) == [(9, 500)]
    assert plan(1, 10_000) == [(1, 10_000)]
    assert all(plan(trials, 10**6)[-1][0] >= 2 for trials in range(2, 100))
    X, y = shuffled("digits")
    tuned = tune("fogd", X, y, TASKS["digits"], trials=9, jobs=1, settings=["n_components=30", "learning_rate=0.5"])
    outcomes = [trial.outcome for trial in tuned.trials]
    assert (len(outcomes), outcomes.count(FINISHED), outcomes.count(HALVED)) == (9, 4, 5)
    assert tuned.trials[0].settings == ("n_components=30", "learning_rate=0.5")
    assert (tuned.trials[0].outcome, tuned.trials[0].rows) == (FINISHED, 1797)
    assert {trial.rows for trial in tuned.trials if trial.outcome == HALVED} == {599}
    assert all(trial.settings[:2] == tuned.trials[0].settings for trial in tuned.trials)
    assert tuned.value == min(trial.value for trial in tuned.trials if trial.outcome == FINISHED)
    assert tuned.value < tuned.trials[0].value
    assert list(tuned.searched) == ["kernel.gamma", "regularization"]


def test_every_width_of_a_sum_of_kernels_is_searched_in_its_own_unit():
    X, y = shuffled("diabetes")
    alone = [
        space("ogd", [f"kernel={kernel}"], X, y, TASKS["diabetes"], 0)["kernel.gamma"]
        for kernel in ("laplacian", "gaussian")
    ]
    both = space("ogd", ["kernel=0.5*laplacian+gaussian"], X, y, TASKS["diabetes"], 0)
    assert [both["kernel.parts.0.kernel.gamma"], both["kernel.parts.1.gamma"]] == alone
    assert alone[0] != alone[1]


def test_divergence_is_infinitely_bad_and_ends_nothing():
    X, y = shuffled("diabetes")
    fixed = ["kernel=polynomial", "kernel.degree=2"]
    some = tune("ogd", X, y, TASKS["diabetes"], trials=12, jobs=1, settings=fixed)
    outcomes = [trial.outcome for trial in some.trials]
    assert 0 < outcomes.count(DIVERGED) < 12
    assert all((trial.value == math.inf) == (trial.outcome == DIVERGED) for trial in some.trials)
    assert math.isfinite(some.value)
    every = tune("ogd", X, y, TASKS["diabetes"], trials=3, jobs=1, settings=["learning_rate=1e30"])
    assert [trial.outcome for trial in every.trials] == [DIVERGED] * 3
    assert every.value == math.inf
    assert every.settings == ["learning_rate=1e30"]


def test_a_metric_that_should_be_large_is_made_large():
    X, y = shuffled("breast-cancer")
    tuned = tune("fogd", X, y, TASKS["breast-cancer"], trials=6, metric="kappa", settings=["n_components=30"])
    assert tuned.value == max(trial.value for trial in tuned.trials) > 0.8
    with pytest.raises(ValueError, match="'mse' does not judge a binary task"):
        tune("fogd", X, y, TASKS["breast-cancer"], metric="mse")


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "auto"])
def test_every_algorithm_has_something_to_search_and_nothing_that_is_a_size(algorithm):
    for data, task in TASKS.items():
        if task.name not in ALGORITHMS[algorithm].tasks:
            continue
        X, y = shuffled(data)
        ranges = space(algorithm, [], X, y, task, 0)
        assert "kernel.gamma" in ranges
        assert set(ranges) <= set(flat(ALGORITHMS[algorithm]))
        assert not set(ranges) & {"budget", "n_components", "rank", "leaving", "batch_size", "sweeps", "kernel"}
        assert all(0 < found.low < found.high for found in ranges.values())


def test_ranges_follow_the_data():
    X, y = shuffled("diabetes")
    task = TASKS["diabetes"]
    near, far = (space("perceptron", [], scale * X, scale * y, task, 0) for scale in (1, 10))
    assert far["kernel.gamma"].low == pytest.approx(near["kernel.gamma"].low / 100)
    assert far["learning_rate"].high == pytest.approx(near["learning_rate"].high * 10)
    sparse = space("perceptron", [], sp.csr_array(X), y, task, 0)
    assert sparse["kernel.gamma"] == pytest.approx(near["kernel.gamma"])
    laplacian = [space("perceptron", ["kernel=laplacian"], scale * X, y, task, 0) for scale in (1, 10)]
    assert laplacian[1]["kernel.gamma"].low == pytest.approx(laplacian[0]["kernel.gamma"].low / 10)
    assert "learning_rate" not in space("perceptron", [], X, y > 100, Binary([False, True]), 0)
    scheduled = space("fogd", ["learning_rate=inverse-sqrt"], X, y, task, 0)
    assert "learning_rate.rate" in scheduled and "learning_rate" not in scheduled


def test_ranges_follow_the_slope_of_the_loss():
    """Steps along a slope of 1 are in the unit of the targets, along a residual they are shares of it."""
    X, y = shuffled("diabetes")
    tube, squared = (space("norma", settings, X, y, TASKS["diabetes"], 0) for settings in ([], ["loss=squared"]))
    assert tube["learning_rate"].high == pytest.approx(y.std()) and squared["learning_rate"].high == 1.0
    assert {"nu", "epsilon"} <= set(tube) and not {"nu", "epsilon"} & set(squared)
    whole = space("fogd", ["loss=squared", "loss.half=false"], X, y, TASKS["diabetes"], 0)
    assert whole["learning_rate"].high == 0.5


def test_sparse_rows_and_words_for_labels_are_tuned_too():
    X, y = shuffled("breast-cancer")
    words = np.array(["benign", "malign"])[y.astype(int)]
    tuned = tune("fogd", sp.csr_array(X), words, Binary(["benign", "malign"]), trials=4, jobs=1)
    assert 0 <= tuned.value <= tuned.trials[0].value < 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "trials=0"),
        ({"jobs": 0}, "jobs=0"),
        ({"settings": ["bogus=1"]}, "has no parameter 'bogus'"),
        ({"metric": "bogus"}, "'bogus' is not a metric"),
    ],
)
def test_what_cannot_be_tuned_is_refused(options, message):
    X, y = shuffled("breast-cancer")
    with pytest.raises(ValueError, match=message):
        tune("fogd", X, y, TASKS["breast-cancer"], **options)
    with pytest.raises(ValueError, match="no rows"):
        tune("fogd", X[:0], y[:0], TASKS["breast-cancer"])


# The rows to tune on.


@pytest.mark.parametrize("how", ["random", "prefix"])
def test_a_subset_keeps_the_order_of_the_stream_and_does_not_depend_on_blocks(how):
    X, y = np.arange(5000.0)[:, None], np.arange(5000.0)
    chosen = [subset(ArraySource(X, y, block_rows=rows), 300, how, seed=3) for rows in (1, 64, 10_000)]
    for rows, labels in chosen:
        assert np.array_equal(rows[:, 0], labels)
        assert np.array_equal(labels, chosen[0][1])
    labels = chosen[0][1]
    assert len(labels) == 300
    assert (np.diff(labels) > 0).all()
    if how == "prefix":
        assert labels[-1] == 299
    else:
        assert len(np.unique(labels // 500)) == 10
        assert not np.array_equal(labels, subset(ArraySource(X, y), 300, how, seed=4)[1])


def test_every_row_is_as_likely_as_any_other():
    source = ArraySource(np.zeros((40, 1)), np.arange(40.0), block_rows=7)
    counts = sum(np.bincount(subset(source, 10, seed=seed)[1].astype(int), minlength=40) for seed in range(2000))
    # 2,000 draws with probability 1/4: a standard deviation is 19.4.
    assert np.abs(counts - 500).max() < 4 * 19.4


def test_a_subset_of_widening_sparse_rows_is_as_wide_as_the_widest(tmp_path):
    file = tmp_path / "a.libsvm"
    file.write_text("".join(f"{i} {i % 30 + 1}:{i + 1}\n" for i in range(100)))
    X, y = subset(LibsvmSource(file, block_rows=10), 50)
    assert X.shape == (50, 30)
    assert np.array_equal(X.sum(axis=1), y + 1)
    assert subset(LibsvmSource(file), 1000)[0].shape == (100, 30)


@pytest.mark.parametrize(
    ("rows", "how", "n", "message"),
    [
        (0, "random", 5, "rows=0"),
        (5, "last", 5, "how='last' must be one of random"),
        (5, "prefix", 0, "no rows"),
    ],
)
def test_a_subset_that_cannot_be_is_refused(rows, how, n, message):
    with pytest.raises(ValueError, match=message):
        subset(ArraySource(np.zeros((n, 1)), np.zeros(n)), rows, how)


# Configuration files.


def test_a_configuration_comes_back_as_it_was_written(tmp_path):
    X, y = shuffled("breast-cancer")
    fixed = ["kernel=laplacian", "n_components=30", "normalize=true"]
    tuned = tune("fogd", X, y, TASKS["breast-cancer"], trials=4, jobs=1, seed=7, settings=fixed)
    write_config(tmp_path / "a.toml", tuned, data="569 rows of\nbreast-cancer", scale="minmax")
    text = (tmp_path / "a.toml").read_text()
    config = read_config(tmp_path / "a.toml")
    head = {"algorithm": "fogd", "task": "binary", "scale": "minmax", "seed": 7}
    assert {name: value for name, value in config.items() if name != "set"} == head
    assert spec_from("fogd", config["set"]) == spec_from("fogd", tuned.settings)
    assert tomllib.loads(text)["set"]["kernel"] == "laplacian"
    assert "# Tuned on 569 rows of breast-cancer: mistake_rate" in text
    assert "4 trials: 4 finished, 0 halved, 0 diverged" in text
    assert f"kernel.gamma: {tuned.searched['kernel.gamma']}" in text


def test_a_configuration_written_by_hand_may_nest(tmp_path):
    file = tmp_path / "b.toml"
    file.write_text("algorithm = 'fogd'\n[set]\nkernel.gamma = 0.5\nnormalize = false\nloss = 'logistic'\n")
    config = read_config(file)
    assert config == {"algorithm": "fogd", "set": ["kernel.gamma=0.5", "normalize=False", "loss=logistic"]}
    spec = spec_from("fogd", config["set"])
    assert (spec.kernel.gamma, spec.normalize, spec.loss) == (0.5, False, "logistic")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("algorithm = ", "is not TOML"),
        ("rate = 3", "has a key 'rate'; it may have algorithm, task, scale, seed, set"),
        ("seed = 'x'", "has seed = 'x'; it must be a whole number"),
        ("seed = true", "has seed = True"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(text, message, tmp_path):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_config(tmp_path / "c.toml")
