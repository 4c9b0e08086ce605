"""Laws of online scaling: the past only, whatever the blocks; kept with the model, untouched by bad rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import FOGD, OGD, Binary, Learner, Regression
from kernelstream.engine import state as model_files
from kernelstream.engine.state import ModelFileError
from kernelstream.evaluate.run import prequential
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource, Scaling, fit_scaling, open_source
from kernelstream.sources.transform import ONLINE, OnlineScaling, scaling_from

DRAWS = np.random.default_rng(0)
X = DRAWS.normal([5.0, -1e3, 0.0, 2.0], [2.0, 1e-2, 1e4, 0.0], size=(200, 4))
X[DRAWS.random(X.shape) < 0.5] = 0.0
X[:, 3] = 2.0
Y = np.where(X[:, 0] > 3.0, "yes", "no")
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}


def learner(**options):
    spec = FOGD(n_components=20, kernel=Gaussian(gamma=0.3))
    return Learner(spec, Binary(["no", "yes"]), **{"dtype": "float64", "scaling": OnlineScaling()} | options)


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


def statistics(scaling):
    return {name: array.tolist() for name, array in scaling.arrays().items()}


def test_a_dense_row_is_scaled_by_the_mean_and_deviation_of_the_rows_before_it():
    scaled = OnlineScaling().learn(X)
    assert (scaled[0] == 0).all()
    for t in range(1, len(X)):
        past = X[:t]
        deviation = past.std(axis=0)
        expected = np.divide(X[t] - past.mean(axis=0), deviation, out=np.zeros(4), where=deviation > 1e-9)
        np.testing.assert_allclose(scaled[t], expected, rtol=1e-6, atol=1e-9)
    assert (scaled[:, 3] == 0).all()


def test_a_sparse_row_is_divided_by_the_root_mean_square_of_the_rows_before_it():
    scaled = OnlineScaling().learn(sp.csr_array(X))
    assert sp.issparse(scaled)
    assert np.array_equal(scaled.indices, sp.csr_array(X).indices)
    for t in range(1, len(X)):
        size = np.sqrt(np.mean(np.square(X[:t]), axis=0))
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
    assert statistics(whole.scaling) == statistics(pieces.scaling)


@pytest.mark.parametrize("form", FORMS)
def test_a_trace_does_not_depend_on_the_blocks_though_gamma_is_settled_from_scaled_rows(form):
    def record(block_rows):
        model = Learner("fogd", Binary(["no", "yes"]), scaling=OnlineScaling())
        trace = prequential(model, ArraySource(FORMS[form](X), Y, block_rows=block_rows))
        return trace.parameters, [(c.rows, c.metrics) for c in trace.checkpoints], statistics(model.scaling)

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
    assert model.width == len(model.scaling.mean) == 4
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
    before = statistics(model.scaling)
    shown = model.scores(rows[100:101])
    assert statistics(model.scaling) == before
    assert np.array_equal(shown, model.learn(rows[100:101], Y[100:101]))


def test_what_comes_later_is_not_peeked_at():
    other = X.copy()
    other[100:] *= 1e6
    assert np.array_equal(learner().learn(X, Y)[:100], learner().learn(other, Y)[:100])


@pytest.mark.parametrize("form", FORMS)
def test_learning_goes_on_from_a_file_bit_for_bit(form, tmp_path):
    rows, through = FORMS[form](X), learner()
    learner().save(tmp_path / "unlearned.ks")
    assert Learner.load(tmp_path / "unlearned.ks").scaling.kind == ONLINE
    through.learn(rows[:90], Y[:90])
    through.save(tmp_path / "m.ks")
    resumed = Learner.load(tmp_path / "m.ks")
    assert statistics(resumed.scaling) == statistics(through.scaling)
    assert np.array_equal(resumed.learn(rows[90:], Y[90:]), through.learn(rows[90:], Y[90:]))
    assert statistics(resumed.scaling) == statistics(through.scaling)


@pytest.mark.parametrize(
    "change",
    [
        {"mean": np.array([0.0])},
        {"mean": np.full(4, np.nan)},
        {"spread": np.full(4, -1.0)},
        {"spread": np.zeros(4, np.float32)},
        {"counts": np.array([-1, 1])},
        {"counts": np.array([1])},
    ],
)
def test_statistics_that_cannot_have_been_learned_are_refused(change, tmp_path):
    model = learner()
    model.learn(X, Y)
    model.save(tmp_path / "m.ks")
    header, arrays = model_files.read(tmp_path / "m.ks")
    arrays.update({f"scaling.{name}": array for name, array in change.items()})
    header = {name: value for name, value in header.items() if name not in ("format", "version")}
    model_files.write(tmp_path / "m.ks", header, arrays)
    with pytest.raises(ModelFileError, match=r"m\.ks is damaged"):
        Learner.load(tmp_path / "m.ks")


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
    before, scores = statistics(model.scaling), model.scores(X)
    rows, *rest = BAD[wrong]()
    with pytest.raises(ValueError):
        model.learn(FORMS[form](rows), *rest)
    assert statistics(model.scaling) == before
    assert np.array_equal(model.scores(X), scores)


def test_a_diverging_model_has_scaled_by_the_whole_block():
    model = Learner(OGD(learning_rate=1e30), Regression(), scaling=OnlineScaling())
    with pytest.raises(FloatingPointError):
        model.learn(X, X[:, 2])
    assert model.n_seen < len(X)
    assert model.scaling.n_rows == len(X)


def test_a_jump_after_a_standstill_stays_within_what_a_learner_takes():
    rows = np.array([[1.0], [1.0 + 1e-12], [-1e15], [1.0]])
    assert OnlineScaling().learn(rows)[2, 0] == -1e15
    assert np.isfinite(learner().learn(rows, ["no", "yes", "no", "yes"])).all()


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
    theirs = statistics(b.scaling)
    a.merge(b)
    whole = OnlineScaling()
    narrow = X.copy()
    narrow[:60, 3] = 0
    whole.learn(FORMS[form](narrow))
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(a.scaling.arrays()[name], array, rtol=1e-9, atol=1e-9)
    assert statistics(b.scaling) == theirs
    assert statistics(learner().merge(b).scaling) == theirs


def test_learners_whose_scalings_do_not_fit_are_not_merged():
    fitted = [fit_scaling(ArraySource(rows, Y), "minmax") for rows in (X, X + 1)]
    pairs = [
        (OnlineScaling(), None, "scaling differs, 'online' here and None there"),
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
    a, b = learner(scaling=fitted[0]), learner(scaling=Scaling(*fitted[0]))
    b.learn(X, Y)
    assert a.merge(b).n_seen == len(X)


def test_two_learners_do_not_share_what_they_count():
    given = OnlineScaling()
    a, b = learner(scaling=given), learner(scaling=given)
    a.learn(X, Y)
    assert (a.scaling.n_rows, b.scaling.n_rows, given.n_rows) == (200, 0, 0)
    assert statistics(scaling_from(ONLINE, a.scaling.arrays())) == statistics(a.scaling)


def test_on_real_data_it_does_as_well_as_a_first_pass():
    source = open_source("breast-cancer")
    task = Binary(np.array([0.0, 1.0]))

    def mistakes(scaling):
        return prequential(Learner("fogd", task, scaling=scaling), source).last.metrics["mistake_rate"]

    unscaled, online, standard = mistakes(None), mistakes(OnlineScaling()), mistakes(fit_scaling(source, "standard"))
    assert online < unscaled
    assert online < standard + 0.02
