"""Laws of the sources: every stream equals the whole file, is restartable, and names what it refuses."""

import bz2
import gc
import gzip
import io
import lzma
import math
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_svmlight_file
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from kernelstream.sources import (
    ArraySource,
    ChainedSource,
    DelimitedSource,
    FixedScaling,
    LibsvmSource,
    NpzSource,
    Scaled,
    Shuffled,
    Source,
    SourceError,
    fit_scaling,
    open_source,
)
from kernelstream.sources._decimals import decimal
from kernelstream.sources.columns import ColumnOptions
from timing import times_as_fast

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KERNELSTREAM_DATA", ROOT.parent / "shared" / "data"))
COMPRESSIONS = {
    "": lambda data: data,
    ".xz": lzma.compress,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
SOME_TEXT = b"1 1:0.5 3:-2e-3\n-1 2:7\n+1 # nothing but a label\n1 1:1 2:2 4:4\n"
ROUNDING = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="session")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("sources")


def data_file(*parts):
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"real data not found at {path}; set KERNELSTREAM_DATA")
    return path


def write(path, data):
    path.write_bytes(data)
    return path


def libsvm(tmp_path, text, **options):
    return LibsvmSource(write(tmp_path / "given.libsvm", text), **options)


def delimited(tmp_path, text, **options):
    return DelimitedSource(write(tmp_path / "given.csv", text), **options)


def whole(source):
    """All blocks of a source put together; X dense."""
    blocks = list(source)
    width = blocks[-1][0].shape[1]
    rows = [sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width)).toarray() if sp.issparse(X) else X
            for X, _ in blocks]  # fmt: skip
    return np.concatenate(rows), np.concatenate([y for _, y in blocks])


def same(left, right):
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(left, right, strict=True))


# LIBSVM text


@pytest.mark.parametrize("parts", [("a9a", "a9a.train.libsvm.xz"), ("german", "german.scaled.libsvm.xz")])
def test_libsvm_equals_scikit_learn_on_real_data(parts):
    path = data_file(*parts)
    X, y = load_svmlight_file(io.BytesIO(lzma.decompress(path.read_bytes())))
    got = list(open_source(path, block_rows=1000))
    stacked = sp.vstack([sp.csr_array((b.data, b.indices, b.indptr), (b.shape[0], X.shape[1])) for b, _ in got])
    assert all(b.shape[0] == 1000 for b, _ in got[:-1])
    assert np.array_equal(stacked.data, X.data)
    assert np.array_equal(stacked.indices, X.indices) and np.array_equal(stacked.indptr, X.indptr)
    assert np.array_equal(np.concatenate([labels for _, labels in got]), y)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 30), st.integers(1, 12)),
    block_rows=st.integers(1, 12),
    chunk_bytes=st.integers(1, 200),
    zero_based=st.booleans(),
)
def test_libsvm_equals_scikit_learn_on_any_sparse_matrix(scratch, seed, shape, block_rows, chunk_bytes, zero_based):
    rng = np.random.default_rng(seed)
    X = sp.random_array(shape, density=0.4, format="csr", rng=rng)
    X.data = rng.standard_normal(X.nnz) * 10.0 ** rng.integers(-30, 30, X.nnz)
    y = rng.integers(-3, 4, shape[0]).astype(float)
    path = scratch / "any.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based)
    expected = load_svmlight_file(str(path), zero_based=zero_based)
    source = LibsvmSource(path, block_rows=block_rows, chunk_bytes=chunk_bytes, zero_based=zero_based)
    rows, labels = whole(source)
    width = expected[0].shape[1]
    assert np.array_equal(rows[:, :width], expected[0].toarray()) and not rows[:, width:].any()
    assert np.array_equal(labels, expected[1])


def values_of(path, texts):
    path.write_text("0 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts, 1)) + "\n")
    return next(iter(LibsvmSource(path)))[0].data


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40))
def test_a_float_written_by_repr_reads_back_bit_equal(scratch, numbers):
    assert values_of(scratch / "repr.svm", map(repr, numbers)).tobytes() == np.array(numbers).tobytes()


DECIMAL = r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.from_regex(DECIMAL, fullmatch=True), min_size=1, max_size=40))
def test_any_decimal_reads_as_python_reads_it(scratch, texts):
    texts = [text for text in texts if math.isfinite(float(text))]
    assert values_of(scratch / "decimal.svm", texts).tobytes() == np.array([float(t) for t in texts]).tobytes()


def test_values_at_the_border_of_the_exact_path():
    """One above 2^53, the powers 22 and 23, and 17 digits: none may be rounded twice."""
    texts = ["9007199254740992", "9007199254740993", "1e22", "1e23", "123e-22", "3e-23", "0.30000000000000004",
             "-0", "1e-400", "0e999", "5e-324", "8.5e22", "9007199254740993e-22"]  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        got = values_of(Path(directory) / "border.svm", texts)
    assert got.tobytes() == np.array([float(text) for text in texts]).tobytes()


def test_long_decimals_are_right_wherever_they_are_sure():
    """Random ones, and odd integers above 2^53, which are ties or a hair away from them."""
    rng = np.random.default_rng(3)
    mantissa = np.concatenate(
        [rng.integers(-(10**18) + 1, 10**18, 20_000), 2**53 + 1 + 2 * rng.integers(0, 2**52, 20_000)]
    )
    power = np.concatenate([rng.integers(-70, 71, 20_000), rng.integers(-3, 4, 20_000)])
    values = np.array([decimal(m, p) for m, p in zip(mantissa.tolist(), power.tolist(), strict=True)])
    sure = ~np.isnan(values)
    expected = [float(f"{m}e{p}") for m, p in zip(mantissa[sure].tolist(), power[sure].tolist(), strict=True)]
    assert np.array_equal(values[sure], expected) and sure.mean() > 0.8
    assert np.isnan([decimal(0, 0), decimal(1, 65), decimal(1, -65)]).all()


def test_layout_of_a_line_does_not_matter(tmp_path):
    plain = whole(libsvm(tmp_path, b"1 1:.5 3:-2\n-1 2:1e-3\n1\n"))
    odd = b"\xef\xbb\xbf# a comment\n\n \t\n  +1 qid:7\t1:+.5 \t3:-2. # 4:4\r\n-1.0 2:0.001#5:5\r\n\n   \r\n1e0"
    for chunk_bytes in (1, 2, 3, 7, 1000):
        assert same(whole(libsvm(tmp_path, odd, chunk_bytes=chunk_bytes)), plain)


@pytest.mark.parametrize("chunk_bytes", [1, 5, 17, 64, 2**18])
@pytest.mark.parametrize("block_rows", [1, 2, 3, 100])
def test_chunk_and_block_borders_do_not_matter(tmp_path, chunk_bytes, block_rows):
    source = libsvm(tmp_path, SOME_TEXT * 9, chunk_bytes=chunk_bytes, block_rows=block_rows)
    rows = [len(y) for _, y in source]
    assert sum(rows) == 36 and set(rows[:-1]) <= {block_rows}
    assert same(whole(source), whole(libsvm(tmp_path, SOME_TEXT * 9)))


def test_more_rows_than_the_first_buffer_fit_in_one_block(tmp_path):
    ((X, y),) = libsvm(tmp_path, SOME_TEXT * 3000, block_rows=10**9)
    assert X.shape == (12000, 4) and np.array_equal(y, np.tile([1.0, -1, 1, 1], 3000))


def test_widths_never_decrease_and_follow_the_highest_index(tmp_path):
    blocks = [X for X, _ in libsvm(tmp_path, b"1\n1 3:1\n1 1:1\n1 7:1\n1\n", block_rows=1)]
    assert [X.shape[1] for X in blocks] == [1, 3, 3, 7, 7]
    assert all(isinstance(X, sp.csr_array) and X.indices.dtype == np.int32 for X in blocks)


def test_labels_may_be_words(tmp_path):
    _, y = whole(libsvm(tmp_path, "cat 1:2\ndög\n3 1:1\n1_0\n".encode(), block_rows=2, chunk_bytes=3))
    assert y.tolist() == ["cat", "dög", "3", "1_0"]


@pytest.mark.parametrize(
    ("bad", "column", "hint"),
    [
        (b"1 1:2 x:3", 7, "'x:3' is not index:value"),
        (b"1 1:2 3", 7, "'3' is not index:value"),
        (b"1 -1:2", 3, "'-1:2' is not index:value"),
        (b"1 :2", 3, "':2' is not index:value"),
        (b"1 qidx", 3, "'qidx' is not index:value"),
        (b"1 1:x", 5, "'x' is not a number"),
        (b"1 1:", 5, "'' is not a number"),
        (b"1 1: 2", 5, "'' is not a number"),
        (b"1 1:1_0", 5, "'1_0' is not a number"),
        (b"1 1:1e", 5, "'1e' is not a number"),
        (b"1 1:1.2.3", 5, "'1.2.3' is not a number"),
        (b"1 0:1", 3, "index 1; open it with zero_based=True"),
        (b"1 2:1 1:1", 7, "sort each line"),
        (b"1\t2:1\t2:1", 7, "drop duplicates"),
        (b"1 2147483648:1", 3, "limit of 1048576 features, which max_features raises (up to 2147483647)"),
        (b"1 99999999999999999999999:1", 3, "limit of 1048576 features"),
        (b"1:2 2:3", 1, "no label"),
        (b"1:2 0:3", 1, "no label"),
        (b"  1,2 3:4", 3, "several labels"),
        (b"cat 3:4", 1, "'cat' is not a number"),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [4, 2**18])
def test_malformed_text_is_refused_by_line_and_column(tmp_path, bad, column, hint, chunk_bytes):
    text = SOME_TEXT + b"# comment\n" + bad + b"\n1 1:also_bad\n"
    source = libsvm(tmp_path, text, chunk_bytes=chunk_bytes, block_rows=4)
    with pytest.raises(SourceError) as caught:
        list(source)
    assert (caught.value.path, caught.value.line, caught.value.column) == (source.path, 6, column)
    assert f"given.libsvm, line 6, column {column}: " in str(caught.value) and hint in str(caught.value)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.line) == (str(caught.value), 6)


BAD_LINES = [
    b"1 1:2 x:3",
    b"1 1:0.1 2:x",
    b"1:2 2:3",
    b"word 5",
    b"1 1:1e",
    b"1 3:1 2:1",
    b"1 0:1",
    b"1,2 3:4",
    b"x y z",
]


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.sampled_from([*BAD_LINES, *SOME_TEXT.splitlines(), b"# comment", b""]), max_size=40),
    block_rows=st.integers(1, 9),
    chunk_bytes=st.sampled_from([1, 30, 100, 2**18]),
)
def test_a_skipped_line_leaves_no_trace(scratch, lines, block_rows, chunk_bytes):
    options = {"block_rows": block_rows, "chunk_bytes": chunk_bytes, "on_error": "skip"}
    source = LibsvmSource(write(scratch / "mixed.svm", b"\n".join(lines)), **options)
    kept = write(scratch / "kept.svm", b"\n".join(line for line in lines if line not in BAD_LINES))
    got, expected = list(source), list(LibsvmSource(kept, block_rows=block_rows))
    for (X, y), (X_kept, y_kept) in zip(got, expected, strict=True):
        assert same((X.data, X.indices, X.indptr, y), (X_kept.data, X_kept.indices, X_kept.indptr, y_kept))
        assert X.shape == X_kept.shape
    assert source.skipped == sum(line in BAD_LINES for line in lines)
    first = next((number for number, line in enumerate(lines, 1) if line in BAD_LINES), None)
    assert [f"line {first}, " in notice for notice in source.notices] == [True] * (first is not None)


def test_a_word_label_behind_the_first_block_is_skipped_too(tmp_path):
    source = libsvm(tmp_path, SOME_TEXT + b"cat 1:1\n-1 2:2\n", block_rows=4, on_error="skip")
    assert whole(source)[1].tolist() == [1, -1, 1, 1, -1] and source.skipped == 1
    assert "line 5, column 1: the label 'cat' is not a number" in source.notices[0]
    assert whole(source)[1].tolist() == [1, -1, 1, 1, -1] and source.skipped == 1


@pytest.mark.parametrize("suffix", [".libsvm", ".csv"])
def test_a_stray_word_among_the_first_labels_is_skipped_where_rows_may_be(tmp_path, suffix):
    row = {".libsvm": "{} 1:{}\n", ".csv": "{1},0,{0}\n"}[suffix]
    lines = [row.format(number % 2, number + 1) for number in range(500)]
    bad = {7: row.format("oops", 8), 50: row.format(1, "x"), 400: row.format("oops", 401)}
    mixed = "".join(bad.get(number, line) for number, line in enumerate(lines))
    good = "".join(line for number, line in enumerate(lines) if number not in bad)
    source = open_source(write(tmp_path / f"a{suffix}", mixed.encode()), on_error="skip", block_rows=450)
    for _ in range(2):
        assert same(whole(source), whole(open_source(write(tmp_path / f"good{suffix}", good.encode()))))
        assert source.skipped == 3 and source.notices[0].startswith("3 rows could not be read")
    words = write(tmp_path / f"words{suffix}", "".join([*lines[:97], bad[7], bad[400]]).encode())
    for on_error in ("stop", "skip"):
        source = open_source(words, on_error=on_error)
        assert whole(source)[1].tolist()[-2:] == ["oops"] * 2 and source.skipped == 0, "more than one in a hundred"


def test_query_groups_are_ignored_with_a_notice(tmp_path):
    source = libsvm(tmp_path, b"2 qid:1 1:1\n1 qid:1 1:2\n" * 9, block_rows=4, chunk_bytes=20)
    assert len(whole(source)[1]) == 18
    assert len(source.notices) == 1 and "qid:" in source.notices[0] and "ignored" in source.notices[0]
    mixed = libsvm(tmp_path, b"2 qid:1 1:1\n1 qid:1 x\n1 1:1\n", on_error="skip")
    assert len(whole(mixed)[1]) == 2 and len(mixed.notices) == 2 and set(source.notices) < set(mixed.notices)
    assert whole(plain := libsvm(tmp_path, SOME_TEXT)) and not plain.notices


@pytest.mark.parametrize("name", ["a9a", "w8a"])
def test_libsvm_is_read_ten_times_as_fast_as_by_scikit_learn(tmp_path, name):
    path = write(tmp_path / name, lzma.decompress(data_file(name, f"{name}.train.libsvm.xz").read_bytes()))

    source = LibsvmSource(path)
    next(iter(source))
    assert times_as_fast(lambda: sum(1 for _ in source), lambda: load_svmlight_file(str(path)), 10) >= 10


def test_columns_count_characters_and_long_tokens_are_cut(tmp_path):
    with pytest.raises(SourceError, match=r"line 1, column 5: 'x{40}\.\.\.' is not") as caught:
        list(libsvm(tmp_path, "dög ".encode() + b"x" * 99))
    assert len(str(caught.value)) < 300


def test_interpreted_equals_compiled(tmp_path):
    text = b"dog\n" + SOME_TEXT + b"cat qid:3 1:0.1 2:1e-7 3:12345678901234567890 9:7\n"
    path = write(tmp_path / "both.libsvm", text)
    script = (
        "import sys; from kernelstream.sources import open_source\n"
        "for X, y in open_source(sys.argv[1], block_rows=3): print(X.data.tolist(), X.indices, X.indptr, X.shape, y)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-W", "error", "-c", script, str(path)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_DISABLE_JIT": flag},
            capture_output=True, text=True, check=False,
        ).stdout
        for flag in "01"
    }  # fmt: skip
    assert len(outputs) == 1 and "cat" in outputs.pop()


# Files of every kind


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("suffix", [".libsvm", ".svm", ".svmlight", ".txt", ".csv", ".CSV"])
def test_every_compression_reads_the_same_again_and_again(tmp_path, suffix, compression):
    text = SOME_TEXT if suffix.lower() != ".csv" else b"a,b,label\n1,2,0\n3,4.5,1\n"
    path = write(tmp_path / f"some.data{suffix}{compression}", COMPRESSIONS[compression](text))
    plain = write(tmp_path / f"plain{suffix}", text)
    source = open_source(str(path), block_rows=3)
    assert same(whole(source), whole(open_source(plain))) and same(whole(source), whole(source))
    assert source.name == "some.data" and source.n_rows is None
    assert source.progress() == 1.0
    other = iter(source)
    next(iter(source))
    assert same(next(other)[1:], next(iter(source))[1:])


def test_progress_is_the_share_of_bytes_read(tmp_path):
    source = libsvm(tmp_path, SOME_TEXT * 1000, block_rows=100, chunk_bytes=4096)
    assert source.progress() == 0.0
    seen = [source.progress() for _ in source]
    assert seen == sorted(seen) and 0 < seen[0] < 0.5 and source.progress() == 1.0


@pytest.mark.parametrize("compression", [".xz", ".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("suffix", [".libsvm", ".csv"])
def test_damaged_compression_is_refused(tmp_path, compression, suffix):
    data = COMPRESSIONS[compression](b"1,2,3\n" * 9999)
    for number, damaged in enumerate((data[:-9], b"not compressed at all")):
        path = write(tmp_path / f"{number}{suffix}{compression}", damaged)
        with pytest.raises(SourceError, match="damaged"):
            list(open_source(path))


def test_an_empty_file_is_an_empty_stream(tmp_path):
    for name in ("empty.libsvm", "empty.csv"):
        assert list(open_source(write(tmp_path / name, b""))) == []
    assert list(open_source(write(tmp_path / "header.csv", b"a,b,c"))) == []


def test_what_cannot_be_opened_is_refused_by_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.csv.*digits, breast-cancer, diabetes"):
        open_source(tmp_path / "missing.csv")
    with pytest.raises(ValueError, match=r"\.libsvm \.svm \.svmlight \.txt .*\.csv.*\.npz.*\.xz \.gz \.bz2"):
        open_source(write(tmp_path / "table.xlsx", b""))
    with pytest.raises(ValueError, match="block_rows is 0; it must be at least 1"):
        open_source(write(tmp_path / "some.libsvm", SOME_TEXT), block_rows=0)


def test_built_in_data_sets_by_name():
    source = open_source("diabetes", block_rows=100)
    assert same(whole(source), load_diabetes(return_X_y=True))
    assert (source.name, source.n_rows, [len(y) for _, y in source]) == ("diabetes", 442, [100, 100, 100, 100, 42])
    assert [open_source(name).n_rows for name in ("digits", "breast-cancer")] == [1797, 569]


def test_arrays_become_canonical_blocks():
    X = sp.csr_matrix((np.ones(3), [2, 0, 0], [0, 3]), shape=(1, 3))
    ((block, y),) = ArraySource(X, np.array(["a"], object))
    assert isinstance(block, sp.csr_array) and block.toarray().tolist() == [[2, 0, 1]] and y.dtype.kind == "U"
    ((block, y),) = ArraySource(np.asfortranarray(np.ones((4, 3))), [True, False, True, True])
    assert block.flags.c_contiguous and y.dtype == np.float64
    with pytest.raises(ValueError, match=r"shape \(4, 3\) does not go with 3 labels"):
        ArraySource(np.ones((4, 3)), [1, 2, 3])
    with pytest.raises(ValueError, match="dtype complex128"):
        ArraySource(np.ones((1, 3)), [1j])


# CSV


@pytest.mark.parametrize(
    ("text", "options", "X", "y"),
    [
        (b"1,2,3\n4,5,6\n", {}, [[1, 2], [4, 5]], [3, 6]),
        (b"1,2,3\n4,5,6\n", {"label": 0}, [[2, 3], [5, 6]], [1, 4]),
        (b"1,2,3\n4,5,6\n", {"label": -2}, [[1, 3], [4, 6]], [2, 5]),
        (b"a,b,c\n1,2,3\n", {"label": "b"}, [[1, 3]], [2]),
        (b"\xef\xbb\xbfa,b,c\r\n1,+2,3\r\n", {"label": "a"}, [[2, 3]], [1]),
        (b"5.1,3.5,setosa\n4.9,3,virginica", {}, [[5.1, 3.5], [4.9, 3]], ["setosa", "virginica"]),
        (b"5.1,3.5,setosa\n", {}, [[5.1, 3.5]], ["setosa"]),
        (b"0,1,target\n5.1,3.5,1\n", {}, [[5.1, 3.5]], [1]),
        (b"0,1,target\n5.1,3.5,yes\n", {"header": True}, [[5.1, 3.5]], ["yes"]),
        (b"1,2,3\n4,5,6\n", {"header": True}, [[4, 5]], [6]),
        (b"\n\nx,,label\n\n1e-3,-.5,no\n\n2,1,7\n", {}, [[1e-3, -0.5], [2, 1]], ["no", "7"]),
        (b'"x;1";"y"\n"1";2\n', {"delimiter": ";"}, [[1]], [2]),
    ],
)
def test_csv_headers_and_labels(tmp_path, text, options, X, y):
    got = whole(delimited(tmp_path, text, **options))
    assert same(got, (np.array(X, float), np.array(y, str if isinstance(y[0], str) else float)))
    assert got[0].flags.c_contiguous


def test_csv_blocks_have_exactly_the_asked_rows(tmp_path):
    X = np.random.default_rng(0).standard_normal((60_000, 3))
    text = "\n".join(",".join(map(repr, row)) for row in X.tolist()).encode()
    source = delimited(tmp_path, text, block_rows=777)
    assert [len(y) for _, y in source] == [777] * 77 + [171]
    assert np.array_equal(np.column_stack(whole(source)), X)
    seen = [source.progress() for _ in source]
    assert seen == sorted(seen) and seen[0] < 1.0 == source.progress()


@pytest.mark.parametrize("chunk_bytes", [1, 2, 5, 11])
def test_csv_chunk_borders_do_not_matter(tmp_path, monkeypatch, chunk_bytes):
    text = b"\na,b,c\n\n" + b"1.5,2,3\r\n\n\n\r\n" * 5 + b"4,5,6"
    expected = whole(delimited(tmp_path, text))
    assert len(expected[1]) == 6
    monkeypatch.setattr("kernelstream.sources.delimited._CHUNK_BYTES", chunk_bytes)
    assert same(whole(delimited(tmp_path, text, block_rows=4)), expected)
    with pytest.raises(SourceError, match="line 25, column 1"):
        list(delimited(tmp_path, text + b"\nx,5,6"))


@pytest.mark.parametrize(
    ("text", "options", "line", "column", "hint"),
    [
        (
            b"a,b,c\n1,2,3\n1,red,3\n",
            {"columns": ColumnOptions(categorical="refuse")},
            3,
            2,
            "'red' of 'b' is not a number; make features of words: categorical='onehot'",
        ),
        (
            b"a,b,c\n1,2,3\n1,red,3\n",
            {},
            3,
            2,
            "unlike most in.*; correct it, say .*: categorical_columns='b', or.*drop",
        ),
        (b"a,b,c\n1,$2.50,3\n1,$3,3\n", {}, 2, 2, r"'\$2.50' of 'b' is not a number"),
        (b"a,b,c\n1,1/2/2026,3\n1,1/3/2026,3\n", {}, 2, 2, "'1/2/2026' of 'b' is not a number but a date"),
        (b"1,2,3\n\n1,red,3\n", {}, 3, 2, "'red' of '#2'"),
        (b"a,b,c\n1,2,3\n1,,3\n", {"columns": ColumnOptions(missing="refuse")}, 3, 2, "'b' is missing"),
        (b"1,2,3\n1,?,3\n", {"columns": ColumnOptions(missing="refuse")}, 2, 2, r"'#2' is missing \('\?'\)"),
        (b"a,b,c\n1,2,3\n1,2,\n", {"columns": ColumnOptions(missing="refuse")}, 3, 3, "label 'c' is missing"),
        (b"1,2,3\n1,2\n", {}, 2, 3, "2 fields, the first line has 3"),
        (b"1,2,3\n1,2,3,4\n", {}, 2, 4, "4 fields, the first line has 3"),
        (b"1,2,3\n1,2,NA\n", {"columns": ColumnOptions(missing="refuse")}, 2, 3, "label '#3' is missing"),
        (b"1,2,3\n" * 2**18 + b"1,2,x\n", {}, 2**18 + 1, 3, "label 'x' is not a number, unlike"),
        (b"1,2,3\n", {"label": 3}, 1, None, "label=3 is not one of the 3 columns"),
        (b"a,b,c\n1,2,3\n", {"label": "d"}, 1, None, "'d'; name one of a, b, c"),
        (b"1;2;3\n", {}, 1, None, "delimiter is ',';.*delimiter=';'"),
    ],
)
def test_csv_faults_are_refused_by_line_and_field(tmp_path, text, options, line, column, hint):
    with pytest.raises(SourceError, match=hint) as caught:
        list(delimited(tmp_path, text, **options))
    assert (caught.value.line, caught.value.column) == (line, column)
    assert f"given.csv, line {line}" in str(caught.value)


# NPZ


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", ">f8", "bool"])
def test_npz_streams_what_was_saved(tmp_path, save, dtype):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 100, (1000, 7)).astype(dtype), rng.integers(0, 3, 1000)
    for labels in (y, y.astype(str)):
        save(tmp_path / "some.npz", X=X, y=labels, other=np.ones(3))
        source = open_source(tmp_path / "some.npz", block_rows=64)
        got = whole(source)
        assert np.array_equal(got[0], X) and got[0].dtype == X.dtype.newbyteorder("=")
        assert np.array_equal(got[1], labels) and got[1].dtype.kind in "fU"
        assert source.n_rows == 1000 and source.progress() == 1.0 and same(whole(source), got)
        assert all(block.flags.c_contiguous and block.flags.writeable for block, _ in source)


@pytest.mark.parametrize(
    ("arrays", "hint"),
    [
        ({"X": np.asfortranarray(np.ones((3, 2))), "y": np.ones(3)}, r"np\.ascontiguousarray\(X\)"),
        ({"X": np.array([[1, None]]), "y": np.ones(1)}, "never unpickled"),
        ({"X": np.ones((3, 2)), "y": np.ones(2)}, "3 rows and y has 2"),
        ({"X": np.ones(3), "y": np.ones(3)}, r"shape \(3,\); it must be a 2-D"),
        ({"X": np.ones((3, 2)), "y": np.ones((3, 1))}, "must be a 1-D"),
        ({"X": np.ones((3, 2), complex), "y": np.ones(3)}, "complex128"),
        ({"X": np.ones((3, 2)), "labels": np.ones(3)}, "no array 'y' among X, labels"),
    ],
)
def test_npz_that_cannot_be_streamed_is_refused_with_a_remedy(tmp_path, arrays, hint):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(SourceError, match=hint):
        NpzSource(tmp_path / "bad.npz")


def test_npz_sparse_or_damaged_is_refused(tmp_path):
    sp.save_npz(tmp_path / "sparse.npz", sp.eye_array(3, format="csr"))
    with pytest.raises(SourceError, match="LIBSVM text"):
        NpzSource(tmp_path / "sparse.npz")
    np.savez(tmp_path / "cut.npz", X=np.ones((99, 9)), y=np.ones(99))
    write(tmp_path / "cut.npz", (tmp_path / "cut.npz").read_bytes()[:-200])
    with pytest.raises(SourceError, match="damaged"):
        NpzSource(tmp_path / "cut.npz")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_npz_memory_is_flat_over_three_million_rows():
    path = data_file("flights-2001h1-3m", "flights-2001h1-3m.all.npz")
    script = """
import re, sys
from kernelstream.sources import open_source
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
source = open_source(sys.argv[1])
before = peak()
print(sum(len(y) for X, y in source), peak() - before)
"""
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows, growth = run.stdout.split()
    # In MiB. Loading X and y whole takes 35, so a limit must be well below that to mean anything.
    assert int(rows) == 3_000_000 and float(growth) < 10


# Scaling


@pytest.mark.parametrize(("kind", "scaler"), [("minmax", MinMaxScaler((-1, 1))), ("standard", StandardScaler())])
@pytest.mark.parametrize("block_rows", [1, 13, 1000])
@pytest.mark.parametrize("sparse", [False, True])
def test_scaling_equals_scikit_learn(kind, scaler, block_rows, sparse):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 6)) * [1, 1e-3, 1e3, 1, 5, 1] + [0, 0.1, 1e3, 7, 0, -3]
    X[:, 4] *= rng.random(200) < 0.2
    expected = scaler.fit_transform(X)
    source = ArraySource(sp.csr_array(X) if sparse else X, np.zeros(200), block_rows=block_rows)
    scaled = Scaled(source, fit_scaling(source, kind))
    assert np.allclose(whole(scaled)[0], expected, **ROUNDING)
    assert (scaled.name, scaled.n_rows, scaled.progress()) == ("array", 200, 1.0)


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_a_constant_feature_scales_to_zero(kind):
    source = ArraySource(np.tile([0.1, 1e9 + 0.3, 0, 5], (1001, 1)), np.zeros(1001), block_rows=10)
    assert not whole(Scaled(source, fit_scaling(source, kind)))[0].any()


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_features_that_appear_late_count_as_zero_before(tmp_path, kind):
    source = libsvm(tmp_path, b"1 1:-1\n1 1:1\n1 3:4\n1 2:1 3:2\n", block_rows=1)
    X = whole(source)[0]
    expected = fit_scaling(ArraySource(X, np.zeros(4)), kind)
    got = fit_scaling(source, kind)
    assert np.allclose(got.offset, expected.offset, **ROUNDING) and np.allclose(got.factor, expected.factor, **ROUNDING)
    assert np.allclose(whole(Scaled(source, got))[0], expected.apply(X), **ROUNDING)


def test_sparse_rows_stay_sparse_when_no_offset_fills_them():
    X = sp.csr_array(np.array([[0, -2.0], [0, 2], [3, 0], [-3, 0]]))
    scaling = fit_scaling(ArraySource(X, np.zeros(4)), "minmax")
    assert sp.issparse(scaling.apply(X)) and np.array_equal(scaling.apply(X).toarray(), X.toarray() / [3, 2])
    assert isinstance(fit_scaling(ArraySource(abs(X), np.zeros(4)), "minmax").apply(X), np.ndarray)


def test_scaling_refuses_what_it_was_not_fitted_for():
    scaling = FixedScaling("minmax", np.zeros(3), np.ones(3))
    assert scaling.apply(sp.csr_array((2, 2))).shape == (2, 3)
    for X in (np.ones((1, 4)), np.ones((1, 2)), sp.csr_array((1, 4))):
        with pytest.raises(ValueError, match=rf"have {X.shape[1]} features, the scaling was fitted on 3"):
            scaling.apply(X)
    with pytest.raises(ValueError, match="'robust'; it must be one of minmax, standard"):
        fit_scaling(ArraySource(np.ones((1, 1)), [0]), "robust")
    with pytest.raises(ValueError, match="no rows"):
        fit_scaling(ArraySource(np.ones((0, 1)), []), "minmax")
    for bad in (np.nan, np.inf):
        for form in (np.asarray, sp.csr_array):
            source = ArraySource(form([[1, 1], [1, 1], [1, bad], [1, 1.0]]), np.zeros(4), block_rows=2)
            with pytest.raises(ValueError, match=r"feature 1 .* rows 2 to 3"):
                fit_scaling(source, "minmax")


# Shuffling


def shuffle_inputs():
    X = np.arange(300, dtype=np.int16).reshape(100, 3)
    words = np.array([f"word {i % 7}" for i in range(100)])
    sparse = sp.csr_array(X * (X % 3 == 1))
    return {"dense": (X, np.arange(100.0)), "words": (X, words), "sparse": (sparse, np.arange(100.0)),
            "empty": (sp.csr_array((100, 3)), np.arange(100.0))}  # fmt: skip


def spooled(X, y, **options):
    """Arrays that a shuffle does not see as such."""
    return ChainedSource([ArraySource(X, y, **options)])


@pytest.mark.parametrize("served_by", [ArraySource, spooled])
@pytest.mark.parametrize("name", ["dense", "words", "sparse", "empty"])
def test_shuffled_is_one_permutation_whatever_the_blocks(name, served_by):
    X, y = shuffle_inputs()[name]
    order = np.random.default_rng(5).permutation(100)
    expected = (X.toarray() if sp.issparse(X) else X)[order], y[order]
    for read, served in ((1, 100), (7, 13), (100, 1)):
        shuffled = Shuffled(served_by(X, y, block_rows=read), 5, block_rows=served)
        assert same(whole(shuffled), expected) and same(whole(shuffled), expected)
        assert shuffled.n_rows == 100 and shuffled.progress() == 1.0
        block = next(iter(shuffled))[0]
        assert type(block) is (sp.csr_array if sp.issparse(X) else np.ndarray)
        assert not sp.issparse(X) or (block.has_sorted_indices and block.indices.dtype == np.int32)
    assert not np.array_equal(whole(Shuffled(served_by(X, y), 6))[1], expected[1])


def test_shuffled_text_has_the_final_width_everywhere(tmp_path):
    source = libsvm(tmp_path, SOME_TEXT, block_rows=1)
    assert {X.shape[1] for X, _ in Shuffled(source, 0, block_rows=1)} == {4}


def test_shuffled_removes_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shuffled = Shuffled(spooled(*shuffle_inputs()["sparse"]), 0, block_rows=10)
    list(shuffled)
    assert list(tmp_path.iterdir()) == []
    abandoned = iter(shuffled)
    next(abandoned)
    assert len(list(tmp_path.iterdir())) == 1
    del abandoned
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_shuffled_refuses_blocks_that_do_not_agree():
    class Moody(Source):
        name = "moody"

        def __iter__(self):
            yield np.ones((2, 2)), np.ones(2)
            yield np.ones((2, 1)), np.ones(2)

        def progress(self):
            return None

    with pytest.raises(ValueError, match="from row 2 on"):
        list(Shuffled(Moody(), 0))
