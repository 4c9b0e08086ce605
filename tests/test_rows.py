"""Rows in any container are the same rows; what is no row is refused before anything changes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from kernelstream import FOGD, NOGD, OGD, Binary, FourierFeatures, Learner, OnlineKernelClassifier
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import snapshot
from kernelstream.numerics.rows import DENSE_SHARE, LARGEST, as_matrix, filled, n_rows, to_block
from kernelstream.sources import ArraySource

N = 40
rng = np.random.default_rng(0)
# Whole numbers between -3 and 3, two in five of them 0: every container and every dtype holds them exactly.
X = np.where(rng.random((N, 6)) < 0.6, rng.integers(-3, 4, size=(N, 6)), 0).astype(np.float64)
Y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, 1, -1)
SPECS = {
    "ogd": OGD(kernel=Gaussian(gamma=0.1)),
    "fogd": FOGD(kernel=Gaussian(gamma=0.1), n_components=20),
    "nogd": NOGD(kernel=Gaussian(gamma=0.1), budget=10, rank=5),
}
COLUMNS = list("abcdef")


def strided(a):
    wide = np.zeros((2 * a.shape[0], 3 * a.shape[1]), a.dtype)
    wide[::2, ::3] = a
    return wide[::2, ::3]


def reversed_twice(a):
    return np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]


def read_only(a):
    a = a.copy()
    a.setflags(write=False)
    return a


def unaligned(a):
    buffer = np.zeros(a.nbytes + 1, np.uint8)
    view = buffer[1:].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


def unsorted(a):
    csr = sp.csr_array(a)
    indices, data = csr.indices.copy(), csr.data.copy()
    for lo, hi in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        indices[lo:hi], data[lo:hi] = indices[lo:hi][::-1].copy(), data[lo:hi][::-1].copy()
    return sp.csr_array((data, indices, csr.indptr), shape=a.shape)


def with_duplicates(a):
    """Every value in two halves."""
    coo = sp.coo_array(a)
    rows, columns, halves = (np.concatenate([part, part]) for part in (*coo.coords, coo.data / 2))
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(a)))])
    return sp.csr_array((halves[order], columns[order], indptr), shape=a.shape)


def with_explicit_zeros(a):
    csr = sp.csr_array(np.ones_like(a))
    csr.data[:] = a.reshape(-1)
    return csr


DENSE = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided view": strided,
    "negative strides": reversed_twice,
    "read-only": read_only,
    "unaligned": unaligned,
    "big-endian": lambda a: a.astype(">f8"),
    "float16": lambda a: a.astype(np.float16),
    "float32": lambda a: a.astype(np.float32),
    "read-only float32": lambda a: read_only(a.astype(np.float32)),
    "int8": lambda a: a.astype(np.int8),
    "int64": lambda a: a.astype(np.int64),
    "object": lambda a: a.astype(object),
    "lists": lambda a: a.tolist(),
    "lists of ints": lambda a: a.astype(int).tolist(),
    "list of arrays": list,
    "pandas": lambda a: pd.DataFrame(a, columns=COLUMNS),
    "pandas of mixed dtypes": lambda a: pd.DataFrame(a, columns=COLUMNS).astype({"a": "int32", "b": "float32"}),
    "pandas nullable": lambda a: pd.DataFrame(a, columns=COLUMNS).convert_dtypes(),
    "pandas with an index": lambda a: pd.DataFrame(a, index=range(N, 0, -1)),
    "polars": lambda a: pl.DataFrame(a, schema=COLUMNS),
    "polars of mixed dtypes": lambda a: pl.DataFrame(a, schema=COLUMNS).with_columns(pl.col("a").cast(pl.Int32)),
}

SPARSE = {
    "CSR array": sp.csr_array,
    "CSR matrix": sp.csr_matrix,
    "CSC array": sp.csc_array,
    "COO array": sp.coo_array,
    "LIL matrix": sp.lil_matrix,
    "CSR of float32": lambda a: sp.csr_array(a.astype(np.float32)),
    "CSR of ints": lambda a: sp.csr_array(a.astype(np.int32)),
    "CSR with 64-bit indices": lambda a: sp.csr_array(
        (sp.csr_array(a).data, *(part.astype(np.int64) for part in (sp.csr_array(a).indices, sp.csr_array(a).indptr))),
        shape=a.shape,
    ),
    "unsorted": unsorted,
    "duplicates": with_duplicates,
    "explicit zeros": with_explicit_zeros,
}


def learned(spec, rows, y=Y, dtype="float64"):
    learner = Learner(SPECS[spec], Binary([-1, 1]), dtype=dtype)
    return learner.learn(rows, y)


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", SPECS)
def test_every_dense_container_teaches_the_same(spec, dtype, kind):
    assert np.array_equal(learned(spec, DENSE[kind](X), dtype=dtype), learned(spec, X, dtype=dtype))


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", SPECS)
def test_every_sparse_container_teaches_the_same(spec, dtype, kind):
    got = learned(spec, SPARSE[kind](X), dtype=dtype)
    tolerance = {"float32": 1e-5, "float64": 1e-13}[dtype]
    np.testing.assert_allclose(got, learned(spec, X, dtype=dtype), rtol=0, atol=tolerance)
    if kind != "explicit zeros":  # they may change how a row is stored, and with it the last digit
        assert np.array_equal(got, learned(spec, sp.csr_array(X), dtype=dtype))


def test_bools_are_zeros_and_ones():
    assert np.array_equal(learned("ogd", X > 0), learned("ogd", (X > 0).astype(float)))
    assert np.array_equal(learned("ogd", sp.csr_array(X > 0)), learned("ogd", sp.csr_array((X > 0).astype(float))))


def test_nothing_of_the_callers_is_changed():
    for kinds in (DENSE, SPARSE):
        for name, make in kinds.items():
            given, again = make(X), make(X)
            learned("ogd", given)
            if sp.issparse(given):
                parts = [vars(given).get(part) for part in ("data", "indices", "indptr")]
                assert all(
                    np.array_equal(a, b)
                    for a, b in zip(parts, (vars(again).get(p) for p in ("data", "indices", "indptr")), strict=True)
                ), name
            else:
                assert np.array_equal(np.asarray(given, object), np.asarray(again, object)), name


@pytest.mark.parametrize(
    "labels",
    [
        Y.tolist(),
        tuple(Y),
        Y.astype(np.int8),
        Y.astype(float),
        pd.Series(Y, index=range(N, 0, -1)),
        pl.Series(Y),
        read_only(Y),
    ],
    ids=["list", "tuple", "int8", "float", "pandas", "polars", "read-only"],
)
def test_every_container_of_labels_teaches_the_same(labels):
    assert np.array_equal(learned("ogd", X, labels), learned("ogd", X))


def test_a_block_is_csr_and_dense_rows_share_their_indices():
    block, width = to_block(as_matrix(X), "float32")
    assert (width, n_rows(block), block.shared) == (6, N, 1)
    assert block.indices.tolist() == [0, 1, 2, 3, 4, 5]
    assert block.values.dtype == np.float32
    assert np.array_equal(block.values.reshape(N, 6), X)
    block, width = to_block(as_matrix(sp.csr_array(X)), "float64")
    assert (width, n_rows(block), block.shared) == (6, N, 0)
    assert len(block.values) == np.count_nonzero(X)


def spoilt(value, row=3, column=2):
    bad = X.copy()
    bad[row, column] = value
    return bad


REFUSED = {
    "NaN": (spoilt(np.nan), "Row 3, feature 2"),
    "inf": (spoilt(np.inf), "Row 3, feature 2"),
    "-inf": (spoilt(-np.inf), "Row 3, feature 2"),
    "1e30": (spoilt(1e30), "Row 3, feature 2.*1e\\+30.*exceeds 1e\\+15"),
    "beyond float32": (spoilt(-1e300), "Row 3, feature 2"),
    "just too large": (spoilt(1.001 * LARGEST), "Row 3, feature 2"),
    "the first of several": (np.where(np.arange(N)[:, None] >= 5, np.nan, X), "Row 5, feature 0"),
    "the last value": (spoilt(np.nan, N - 1, 5), f"Row {N - 1}, feature 5"),
    "a sparse NaN": (sp.csr_array(spoilt(np.nan)), "Row 3, feature 2"),
    "a sparse inf": (sp.csc_array(spoilt(np.inf)), "Row 3, feature 2"),
    "a sparse sum that overflows": (with_duplicates(spoilt(3 * LARGEST)), "Row 3, feature 2"),
    "pandas NaN": (pd.DataFrame(spoilt(np.nan)), "Row 3, feature 2"),
    "polars null": (pl.DataFrame(X, schema=COLUMNS).with_columns(a=None), "Row 0, feature 0"),
    "None": ([[None, 1.0]], "feature 0|number"),
    "text": (X.astype(str), "must be numbers"),
    "text in an object": (np.array([["a", 1.0]], object), "must be numbers"),
    "pandas text": (pd.DataFrame({"a": ["x", "y"]}), "must be numbers"),
    "dates": (np.array([["2020-01-01"]], "datetime64[D]"), "must be numbers"),
    "complex": (X + 1j, "Complex"),
    "sparse complex": (sp.csr_array(X + 1j), "Complex"),
    "one dimension": (X[0], "1D"),
    "three dimensions": (X[None], "3D"),
    "a number": (3.0, "0D"),
    "no rows": (X[:0], "0 sample"),
    "no features": (X[:, :0], "0 feature"),
    "sparse without rows": (sp.csr_array((0, 6)), "0 sample"),
    "ragged lists": ([[1.0, 2.0], [3.0]], "inhomogeneous|number"),
}


def damaged(kind, part, place, value):
    """A sparse matrix one of whose places was overwritten: SciPy does not look."""
    made = getattr(sp, f"{kind}_array")(X)
    if kind == "lil":
        made.rows[3] = [*made.rows[3][:-1], value]
    else:
        getattr(made, part)[place] = value
    return made


DAMAGED = {
    "index beyond the width": (
        damaged("csr", "indices", 9, 6),
        "Row 3, feature 6: .*6 features.*LIBSVM",
    ),
    "index far beyond": (damaged("csr", "indices", 9, 2**30), "Row 3, feature 1073741824"),
    "index below 0": (damaged("csr", "indices", 9, -1), "Row 3, feature -1"),
    "row beyond the last of CSC": (damaged("csc", "indices", 3, N), f"Row {N}, feature 0: .*{N} rows"),
    "column beyond the width of COO": (damaged("coo", "col", 9, 6), "Row 3, feature 6"),
    "row below 0 of COO": (damaged("coo", "row", 9, -1), "Row -1, feature"),
    "block beyond the width of BSR": (damaged("bsr", "indices", 0, 9), "Row 0, feature "),
    "index beyond the width of LIL": (damaged("lil", "rows", 3, 6), "Row 3, feature 6"),
    "rows that do not begin at 0": (damaged("csr", "indptr", 0, 1), "begin at 0"),
    "rows that fall": (damaged("csr", "indptr", 7, 1), "never fall"),
    "rows that end beyond": (damaged("csr", "indptr", N, 10**6), "end at"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_sparse_matrix_that_reaches_beyond_its_shape_is_refused_before_anything_is_read(kind):
    bad, words = DAMAGED[kind]
    learner = Learner(SPECS["ogd"], Binary([-1, 1]))
    learner.learn(X, Y)
    before, classifier = snapshot(learner), OnlineKernelClassifier("ogd").fit(X, Y)
    transformer = FourierFeatures(20).fit(X)
    calls = (
        lambda: learner.learn(bad, Y),
        lambda: learner.scores(bad),
        lambda: Learner(SPECS["ogd"], Binary([-1, 1])).learn(bad, Y),
        lambda: OnlineKernelClassifier("ogd").fit(bad, Y),
        lambda: classifier.partial_fit(bad, Y),
        lambda: classifier.predict(bad),
        lambda: transformer.transform(bad),
        lambda: ArraySource(bad, Y),
    )
    for call in calls:
        with pytest.raises(ValueError, match=words):
            call()
    assert snapshot(learner) == before


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_no_row_is_refused_by_name_and_changes_nothing(kind, dtype):
    bad, words = REFUSED[kind]
    learner = Learner(SPECS["fogd"], Binary([-1, 1]), dtype=dtype, grow_features=True)
    learner.learn(X, Y)
    before = snapshot(learner)
    n = (*getattr(bad, "shape", ()), 1)[0]
    with pytest.raises((ValueError, TypeError), match=words):
        learner.learn(bad, np.ones(n))
    with pytest.raises((ValueError, TypeError), match=words):
        learner.scores(bad)
    assert snapshot(learner) == before


@pytest.mark.parametrize("value", [LARGEST, -LARGEST, 5e-324, -0.0])
def test_the_largest_and_smallest_values_are_taken(value):
    for spec in SPECS:
        assert np.isfinite(learned(spec, spoilt(value))).all()
        assert np.isfinite(learned(spec, sp.csr_array(spoilt(value)), dtype="float32")).all()


@pytest.mark.parametrize("spec", SPECS)
def test_rows_of_zeros_are_rows(spec):
    zeros = X * (np.arange(N) % 3 > 0)[:, None]
    dense, sparse = learned(spec, zeros), learned(spec, sp.csr_array(zeros))
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-13)
    assert np.isfinite(learned(spec, np.zeros((N, 6)))).all()
    assert np.isfinite(learned(spec, sp.csr_array((N, 6)))).all()


# Sparse rows that are nearly dense.


def test_a_block_of_nearly_dense_rows_is_filled_and_one_with_a_sparse_row_is_not():
    rows = np.where(np.arange(8) < 2, rng.normal(size=(5, 8)), 0.0)  # two of eight: just enough
    assert DENSE_SHARE == 0.25
    block, width = to_block(sp.csr_array(rows), "float64")
    for made, expected in zip(filled(block, width), to_block(rows, "float64")[0], strict=True):
        assert np.array_equal(made, expected)
    assert filled(block, 9) is block, "the model is wider: for it these rows are sparse"
    rows[3, 1] = 0.0
    block, _ = to_block(sp.csr_array(rows), "float64")
    assert filled(block, width) is block


def test_nearly_dense_rows_of_a_narrower_block_are_filled_up_to_the_models_width():
    block, _ = to_block(sp.csr_array(np.ones((3, 4))), "float32")
    made = filled(block, 6)
    assert made.shared and np.array_equal(made.values.reshape(3, 6), np.tile(np.arange(6) < 4, (3, 1)))


@pytest.mark.parametrize("name", SPECS)
def test_nearly_dense_sparse_rows_give_the_bits_of_dense_ones(name):
    rows = np.where(X == 0.0, 0.5, X)
    dense, sparse = (Learner(SPECS[name], Binary([-1, 1])) for _ in range(2))
    assert np.array_equal(dense.learn(rows, Y), sparse.learn(sp.csr_array(rows), Y))
    assert snapshot(dense) == snapshot(sparse)
    assert np.array_equal(dense.scores(rows), sparse.scores(sp.csr_array(rows)))
