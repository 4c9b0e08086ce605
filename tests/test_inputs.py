"""Laws of scaling: the past only, whatever the blocks; features, targets; kept with the model, whole after errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelstream import FOGD, OGD, Binary, Learner, OnlineKernelClassifier, Regression, load
from kernelstream.engine import files
from kernelstream.engine.inputs import ONLINE, FixedScaling, Inputs, OnlineScaling, Scaling, scaling_from
from kernelstream.engine.state import ModelFileError
from kernelstream.evaluate.run import prequential
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource, fit_scaling, open_source

DRAWS = np.random.default_rng(0)
X = DRAWS.normal([5.0, -1e3, 0.0, 2.0], [2.0, 1e-2, 1e4, 0.0], size=(200, 4))
X[DRAWS.random(X.shape) < 0.5] = 0.0
X[:, 3] = 2.0
Y = np.where(X[:, 0] > 3.0, "yes", "no")
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}


SPEC = FOGD(n_components=20, kernel=Gaussian(gamma=0.3))


def learner(spec=SPEC, **options):
    return Learner(spec, Binary(["no", "yes"]), **{"dtype": "float64", "scaling": OnlineScaling()} | options)


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


def statistics(scaling):
    return {name: array.tolist() for name, array in scaling.arrays().items()}


def test_a_dense_row_is_scaled_by_the_mean_and_deviation_of_the_rows_so_far():
    scaled = OnlineScaling().learn(X)
    assert (scaled[0] == 0).all()
    for t in range(1, len(X)):
        past = X[: t + 1]
        deviation = past.std(axis=0)
        expected = np.divide(X[t] - past.mean(axis=0), deviation, out=np.zeros(4), where=deviation > 1e-9)
        np.testing.assert_allclose(scaled[t], expected, rtol=1e-6, atol=1e-9)
    assert (scaled[:, 3] == 0).all()


def test_a_sparse_row_is_divided_by_the_root_mean_square_of_the_rows_so_far():
    scaled = OnlineScaling().learn(sp.csr_array(X))
    assert sp.issparse(scaled)
    assert np.array_equal(scaled.indices, sp.csr_array(X).indices)
    for t in range(1, len(X)):
        size = np.sqrt(np.mean(np.square(X[: t + 1]), axis=0))
        expected = np.divide(X[t], size, out=np.zeros(4), where=size > 0)
        np.testing.assert_allclose(scaled[[t]].toarray()[0], expected, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block_rows", [1, 7, 64])
def test_blocks_have_no_effect_bit_for_bit(form, block_rows):
    rows = FORMS[form](X)
    whole, pieces = learner(), learner()
    at_once = whole.learn(rows, Y)
    starts = range(0, len(Y), block_rows)
    in_pieces = [pieces.learn(rows[i : i + block_rows], Y[i : i + block_rows]) for i in starts]
    assert np.array_equal(at_once, np.concatenate(in_pieces))
    assert statistics(whole.inputs.features) == statistics(pieces.inputs.features)


@pytest.mark.parametrize("form", FORMS)
def test_a_trace_does_not_depend_on_the_blocks_though_gamma_is_settled_from_scaled_rows(form):
    def record(block_rows):
        model = Learner("fogd", Binary(["no", "yes"]), scaling=OnlineScaling())
        trace = prequential(model, ArraySource(FORMS[form](X), Y, block_rows=block_rows))
        return trace.parameters, [(c.rows, c.metrics) for c in trace.checkpoints], statistics(model.inputs.features)

    assert record(13) == record(1000)


@pytest.mark.parametrize("form", FORMS)
def test_features_that_appear_later_were_zero_so_far(form):
    late = X.copy()
    late[:50, 2:] = 0
    narrow, wide = OnlineScaling(), OnlineScaling()
    first = narrow.learn(FORMS[form](late[:50, :2]))
    assert first.shape == (50, 2)
    second = narrow.learn(FORMS[form](late[50:]))
    expected = wide.learn(FORMS[form](late))[50:]
    assert np.array_equal(dense(second), dense(expected))
    assert statistics(narrow) == statistics(wide)


@pytest.mark.parametrize("form", FORMS)
def test_a_learner_that_grows_takes_wider_rows_and_predicts_narrower_and_wider_ones(form):
    model = learner(grow_features=True)
    model.learn(FORMS[form](X[:50, :2]), Y[:50])
    model.learn(FORMS[form](X[50:]), Y[50:])
    assert model.width == len(model.inputs.features.mean) == 4
    wider = np.concatenate([X, np.full((200, 1), 9.0)], axis=1)
    assert np.array_equal(model.scores(FORMS[form](wider)), model.scores(FORMS[form](X)))
    padded = X.copy()
    padded[:, 2:] = 0
    assert np.array_equal(model.scores(FORMS[form](X[:, :2])), model.scores(FORMS[form](padded)))


@pytest.mark.parametrize("form", FORMS)
def test_prediction_applies_the_newest_statistics_and_changes_nothing(form):
    rows, model = FORMS[form](X), learner()
    assert (model.scores(rows) == 0).all()
    model.learn(rows[:100], Y[:100])
    before = statistics(model.inputs.features)
    shown = model.scores(rows[100:101])
    assert statistics(model.inputs.features) == before
    assert np.array_equal(shown, model.learn(rows[100:101], Y[100:101]))


def test_what_comes_later_is_not_peeked_at():
    other = X.copy()
    other[100:] *= 1e6
    assert np.array_equal(learner().learn(X, Y)[:100], learner().learn(other, Y)[:100])


@pytest.mark.parametrize("form", FORMS)
def test_learning_goes_on_from_a_file_bit_for_bit(form, tmp_path):
    rows, through = FORMS[form](X), learner()
    learner().save(tmp_path / "unlearned.ks")
    assert Learner.load(tmp_path / "unlearned.ks").inputs.features.kind == ONLINE
    through.learn(rows[:90], Y[:90])
    through.save(tmp_path / "m.ks")
    resumed = Learner.load(tmp_path / "m.ks")
    assert statistics(resumed.inputs.features) == statistics(through.inputs.features)
    assert np.array_equal(resumed.learn(rows[90:], Y[90:]), through.learn(rows[90:], Y[90:]))
    assert statistics(resumed.inputs.features) == statistics(through.inputs.features)


def damages(array):
    """What an array of a scaling cannot be, whichever it is."""
    yield array.astype(str)
    yield array.astype(np.float32)
    yield array[:-1]
    yield array[None]
    yield np.append(array, array[-1:], axis=0)
    yield np.full(array.shape, np.nan)
    yield np.full(array.shape, np.inf)


KINDS = {
    "standard": lambda: Inputs(fit_scaling(ArraySource(X, Y), "standard"), FixedScaling("a", np.ones(1), np.ones(1))),
    "minmax": lambda: fit_scaling(ArraySource(X, Y), "minmax"),
    "online": lambda: "online",
    "metric": lambda: "metric",
    "full-metric": lambda: "full-metric",
}


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_that_no_scaling_can_have_are_refused(kind, tmp_path):
    model = Learner(SPEC, Regression(), scaling=KINDS[kind]())
    model.learn(X, X[:, 0])
    model.save(tmp_path / "m.ks")
    header, arrays = files.read(tmp_path / "m.ks")
    header = {name: value for name, value in header.items() if name not in ("format", "version")}
    changes = [{name: wrong} for name in arrays if name.startswith("inputs.") for wrong in damages(arrays[name])]
    changes += [{f"inputs.{part}.strange": np.zeros(4)} for part in ("features", "targets")]
    signed = [name for name in arrays if name.startswith("inputs.") and name.endswith(("counts", "squares"))]
    changes += [{name: -1 - arrays[name]} for name in signed]
    # A scaling that is sound, of another model.
    own = [name for name in arrays if name.startswith("inputs.features.") and name.split(".")[2] != "counts"]
    wider = {name: np.pad(arrays[name], (0, 1)) for name in own}
    for change in [*changes, *([wider] if own else [])]:
        files.write(tmp_path / "m.ks", header, arrays | change)
        with pytest.raises(ModelFileError, match=r"m\.ks is (damaged|no model that can be loaded)"):
            Learner.load(tmp_path / "m.ks")
    files.write(tmp_path / "m.ks", header, arrays)
    assert np.array_equal(Learner.load(tmp_path / "m.ks").scores(X), model.scores(X))


BAD = {
    "a feature is NaN": lambda: (np.where(np.arange(4) == 2, np.nan, X[:5]), Y[:5]),
    "a feature is too large": lambda: (np.where(np.arange(4) == 2, 1e16, X[:5]), Y[:5]),
    "a label is unknown": lambda: (X[:2], ["no", "maybe"]),
    "a label is missing": lambda: (X[:5], Y[:4]),
    "rows are too wide": lambda: (np.ones((2, 5)), Y[:2]),
    "a weight is negative": lambda: (X[:2], Y[:2], [1.0, -1.0]),
    "there are no rows": lambda: (X[:0], Y[:0]),
}


@pytest.mark.parametrize("wrong", BAD)
@pytest.mark.parametrize("form", FORMS)
def test_bad_input_changes_no_statistics(wrong, form):
    model = learner()
    model.learn(FORMS[form](X), Y)
    before, scores = statistics(model.inputs.features), model.scores(X)
    rows, *rest = BAD[wrong]()
    with pytest.raises(ValueError):
        model.learn(FORMS[form](rows), *rest)
    assert statistics(model.inputs.features) == before
    assert np.array_equal(model.scores(X), scores)


@pytest.mark.parametrize("form", FORMS)
def test_a_diverging_model_has_taken_in_the_rows_that_it_learned(form):
    model = Learner(OGD(learning_rate=1e30, kernel=Gaussian(gamma=0.1)), Regression(), scaling=ONLINE)
    with pytest.raises(FloatingPointError):
        model.learn(FORMS[form](X), X[:, 0])
    assert 0 < model.n_seen < len(X)
    expected = OnlineScaling()
    expected.learn(FORMS[form](X[: model.n_seen]))
    assert statistics(model.inputs.features) == statistics(expected)
    assert model.inputs.targets.n_rows == model.n_seen


@pytest.mark.parametrize("form", FORMS)
def test_no_row_is_further_out_than_its_number_allows(form):
    jumps = np.array([[1.0], [1.0 + 1e-12], [-1e15], [1.0], [1e15]])
    for rows in (X, jumps):
        scaled = dense(OnlineScaling().learn(FORMS[form](rows)))
        assert (np.abs(scaled) <= np.sqrt(np.arange(1, len(rows) + 1))[:, None] * (1 + 1e-6)).all()


# Targets.


@pytest.mark.parametrize("gamma", [0.3, "scale"])
def test_an_offset_of_the_targets_changes_no_error_once_there_was_a_target(gamma):
    rows = np.random.default_rng(1).normal(size=(300, 3))
    y = np.sin(rows[:, 0]) + rows[:, 1]
    errors = {}
    for offset, unit in ((0.0, 1.0), (1e4, 1.0), (-3e6, 1e3)):
        model = Learner(FOGD(kernel=Gaussian(gamma=gamma)), Regression(), scaling=ONLINE)
        shown = model.predict_learn(rows, offset + unit * y)
        errors[offset] = (shown - offset - unit * y)[1:] / unit
        np.testing.assert_allclose(model.predict(rows[:5]), offset + unit * y[:5], atol=unit)
    for offset in errors:
        np.testing.assert_allclose(errors[offset], errors[0.0], atol=2e-3)
    assert np.mean(errors[0.0][150:] ** 2) < 0.3 * y.var()


def test_a_prediction_is_scaled_back_by_the_targets_before_it():
    y = np.array([10.0, 20.0, 60.0])
    scaled, offsets, units = OnlineScaling().learn_targets(y)
    assert offsets.tolist() == [0.0, 10.0, 15.0]
    assert units.tolist() == [1.0, 0.0, 5.0]
    np.testing.assert_allclose(scaled, [0.0, 1.0, (60.0 - 30.0) / np.std(y)])


def test_fixed_targets_are_scaled_too():
    rows = np.random.default_rng(1).normal(size=(200, 3))
    y = 500.0 + 10.0 * rows[:, 0]
    inputs = Inputs(Scaling(), FixedScaling("standard", np.array([500.0]), np.array([0.1])))
    model = Learner(OGD(kernel=Gaussian(gamma=0.3)), Regression(), scaling=inputs)
    assert np.abs(model.predict_learn(rows, y) - y)[100:].mean() < 5.0
    assert abs(model.predict(rows[:1])[0] - y[0]) < 10.0


# Labels that come late.


@pytest.mark.parametrize("gamma", [0.3, "scale"])
@pytest.mark.parametrize("form", FORMS)
def test_late_labels_are_learned_as_a_loop_of_scores_and_learn_would(form, gamma):
    rows, delay, n = FORMS[form](X), 9, 150
    at_once, loop = (learner(scaling=ONLINE, spec=FOGD(n_components=20, kernel=Gaussian(gamma=gamma))) for _ in "ab")
    late = at_once.learn_late(rows[:n], Y[:n], rows[delay : n + delay])
    for t in range(n):
        assert np.array_equal(loop.scores(rows[t + delay : t + delay + 1])[0], late[t]), t
        loop.learn(rows[t : t + 1], Y[t : t + 1])
    assert statistics(at_once.inputs.features) == statistics(loop.inputs.features)


def test_there_are_as_many_rows_to_show_as_to_learn():
    with pytest.raises(ValueError, match="5 rows to learn and 4 to show"):
        learner().learn_late(X[:5], Y[:5], X[:4])


# Estimators.


def test_scaling_and_threads_survive_fit_clone_save_and_load(tmp_path):
    for scaling in ("none", "online", "standard", "minmax", fit_scaling(ArraySource(X, Y), "standard")):
        given = OnlineKernelClassifier("ogd", scaling=scaling, threads=1, random_state=0)
        fitted = clone(given).fit(X, Y)
        fitted.save(tmp_path / "m.ks")
        loaded = load(tmp_path / "m.ks")
        assert (loaded.threads, loaded.learner_.threads) == (1, 1)
        assert np.array_equal(loaded.decision_function(X), fitted.decision_function(X))
        assert np.array_equal(clone(loaded).fit(X, Y).decision_function(X), fitted.decision_function(X))
        assert np.array_equal(loaded.fit(X, Y).decision_function(X), fitted.decision_function(X))


def test_what_must_be_fitted_is_refused_where_there_are_no_rows_yet():
    for name in ("standard", "minmax"):
        with pytest.raises(ValueError, match=f"scaling='{name}' is fitted on rows.*online"):
            OnlineKernelClassifier(scaling=name).partial_fit(X, Y)
    with pytest.raises(ValueError, match="scaling='robust' must be one of none, minmax, standard, online"):
        Learner("ogd", Regression(), scaling="robust")
    with pytest.raises(ValueError, match="scaling=3 must be one of"):
        Learner("ogd", Regression(), scaling=3)


def test_an_estimator_fits_its_scaling_on_all_rows():
    one = OnlineKernelClassifier("ogd", scaling="standard", random_state=0).fit(X, Y)
    scaling = one.learner_.inputs.features
    np.testing.assert_allclose(scaling.offset, X.mean(axis=0))
    np.testing.assert_allclose(scaling.apply(X)[:, :3].std(axis=0), 1.0)
    assert one.partial_fit(X[:5], Y[:5]).learner_.inputs.features.offset is scaling.offset


def test_the_form_learned_first_decides_and_the_other_is_converted():
    centred, zeros_kept = OnlineScaling(), OnlineScaling()
    centred.learn(X)
    zeros_kept.learn(sp.csr_array(X))
    for scaling in (centred, zeros_kept):
        assert np.array_equal(dense(scaling.apply(X)), dense(scaling.apply(sp.csr_array(X))))
    assert sp.issparse(OnlineScaling().apply(sp.csr_array(X)))
    assert isinstance(centred.apply(sp.csr_array(X)), np.ndarray)
    assert sp.issparse(zeros_kept.apply(X))


@pytest.mark.parametrize("form", FORMS)
def test_merged_statistics_are_those_of_all_rows(form):
    rows = FORMS[form](X)
    a, b = learner(grow_features=True), learner(grow_features=True)
    a.learn(rows[:60, :3], Y[:60])
    b.learn(rows[60:], Y[60:])
    theirs = statistics(b.inputs.features)
    a.merge(b)
    whole = OnlineScaling()
    narrow = X.copy()
    narrow[:60, 3] = 0
    whole.learn(FORMS[form](narrow))
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(a.inputs.features.arrays()[name], array, rtol=1e-9, atol=1e-9)
    assert statistics(b.inputs.features) == theirs
    assert statistics(learner().merge(b).inputs.features) == theirs


def test_learners_whose_scalings_do_not_fit_are_not_merged():
    fitted = [fit_scaling(ArraySource(rows, Y), "minmax") for rows in (X, X + 1)]
    pairs = [
        (OnlineScaling(), "none", "scaling differs, 'online' here and 'none' there"),
        (OnlineScaling(), fitted[0], "scaling differs, 'online' here and 'minmax' there"),
        (fitted[0], fitted[1], "scaling.offset differs"),
    ]
    for mine, theirs, message in pairs:
        a, b = learner(scaling=mine), learner(scaling=theirs)
        a.learn(X, Y)
        b.learn(X, Y)
        with pytest.raises(ValueError, match=message):
            a.merge(b)
    a, b = learner(), learner()
    a.learn(X, Y)
    b.learn(sp.csr_array(X), Y)
    with pytest.raises(ValueError, match=r"scaling\.centred differs, True here and False there"):
        a.merge(b)
    a, b = (
        learner(scaling=fitted[0]),
        learner(scaling=FixedScaling("minmax", fitted[0].offset.copy(), fitted[0].factor.copy())),
    )
    b.learn(X, Y)
    assert a.merge(b).n_seen == len(X)


def test_two_learners_do_not_share_what_they_count():
    given = OnlineScaling()
    a, b = learner(scaling=given), learner(scaling=given)
    a.learn(X, Y)
    assert (a.inputs.features.n_rows, b.inputs.features.n_rows, given.n_rows) == (200, 0, 0)
    assert statistics(scaling_from(ONLINE, a.inputs.features.arrays())) == statistics(a.inputs.features)


def test_on_real_data_it_does_as_well_as_a_first_pass():
    source = open_source("breast-cancer")
    task = Binary(np.array([0.0, 1.0]))

    def mistakes(scaling):
        return prequential(Learner("fogd", task, scaling=scaling), source).last.metrics["mistake_rate"]

    unscaled, online, standard = mistakes("none"), mistakes("online"), mistakes(fit_scaling(source, "standard"))
    assert online < unscaled
    assert online < standard + 0.02
