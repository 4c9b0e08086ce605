"""A source that is cut: its pieces have its rows, each once and in order, wherever the cuts are."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream.sources import ArraySource, ChainedSource, SourceError, open_source
from kernelstream.sources import pieces as cutting
from kernelstream.sources.pieces import cut, knowing, looked_at, place_of, words_of
from kernelstream.sources.writers import convert

N = 700


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(N, 3)), 3)
    return ArraySource(X, (X[:, 0] > 0).astype(float), name="rows")


def joined(blocks):
    parts = [(sp.csr_array(X).toarray(), y) for X, y in blocks]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def read_apart(source, size, monkeypatch):
    """The rows of the pieces, each read by a copy that another process could have."""
    monkeypatch.setattr(cutting, "_LEAST_BYTES", size)
    monkeypatch.setattr(cutting, "_MOST_BYTES", size)
    head = looked_at(source)[0]
    pieces = cut(source, 2)
    found = []
    for piece in pieces:
        copied, told = pickle.loads(pickle.dumps((piece, head)))
        found += list(copied.after(told))
    return pieces, found


@pytest.mark.parametrize("suffix", ["libsvm", "csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("size", [37, 1000, 10**6])
def test_pieces_have_the_rows_of_the_whole(suffix, size, rows, tmp_path, monkeypatch):
    path = tmp_path / f"rows.{suffix}"
    convert(rows, path)
    if suffix == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(pq.read_table(path), path, row_group_size=64)
    source = open_source(path)
    pieces, found = read_apart(source, size, monkeypatch)
    assert len(pieces) > (10 if size == 37 else 0)
    if size == 10**6:
        assert len(pieces) == 1
    for mine, theirs in zip(joined(found), joined(source), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_arrays_are_cut_between_rows(rows, monkeypatch):
    pieces, found = read_apart(rows, 999, monkeypatch)
    assert len(pieces) > 5
    np.testing.assert_array_equal(joined(found)[0], rows.X)


def test_several_files_are_cut_one_after_another(rows, tmp_path, monkeypatch):
    for name, some in (("a", slice(0, 300)), ("b", slice(300, N))):
        convert(ArraySource(rows.X[some], rows.y[some]), tmp_path / f"{name}.csv")
    source = open_source(tmp_path)
    _, found = read_apart(source, 500, monkeypatch)
    np.testing.assert_array_equal(joined(found)[0], rows.X)


def test_a_file_with_its_columns_in_another_order_is_cut_where_they_are_known(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b,c,y\n" + "1,2,3,0\n" * 100)
    (tmp_path / "b.csv").write_text("b,c,a,y\n" + "2,3,1,1\n" * 100)
    pieces, found = read_apart(open_source(tmp_path), 100, monkeypatch)
    assert len(pieces) > 5
    np.testing.assert_array_equal(joined(found)[0], np.tile([1.0, 2.0, 3.0], (200, 1)))


def test_a_label_by_its_name_is_found_in_every_piece(tmp_path, monkeypatch):
    path = tmp_path / "named.csv"
    path.write_text("target,x\n" + "".join(f"{i % 2},{i}\n" for i in range(200)))
    _, found = read_apart(open_source(path, label="target"), 100, monkeypatch)
    X, y = joined(found)
    np.testing.assert_array_equal(X[:, 0], np.arange(200))
    np.testing.assert_array_equal(y, np.arange(200) % 2)


def test_a_compressed_file_is_one_piece(rows, tmp_path, monkeypatch):
    convert(rows, tmp_path / "rows.csv.gz")
    pieces, found = read_apart(open_source(tmp_path / "rows.csv.gz"), 100, monkeypatch)
    assert len(pieces) == 1
    np.testing.assert_array_equal(joined(found)[0], rows.X)
    (notice,) = cutting.too_few(pieces, 2)
    assert "in 1 piece, so that no more of the 2 workers learn at a time" in notice
    assert cutting.too_few(pieces, 1) == ()


def test_a_line_break_in_quotes_is_refused_where_lines_are_read_apart(tmp_path, monkeypatch):
    path = tmp_path / "quoted.csv"
    path.write_text("x,word,y\n" + '1,"a\nb",0\n2,c,1\n' * 50)
    source = open_source(path, categorical="hash", hash_features=8)
    assert len(joined(source)[1]) == 100
    with pytest.raises(SourceError, match="a quoted field holds a line break"):
        read_apart(source, 200, monkeypatch)


def test_words_are_gathered_before_pieces_are_read_apart(tmp_path, monkeypatch):
    path = tmp_path / "words.csv"
    path.write_text("x,word,y\n" + "".join(f"{i},w{i // 10},{i % 2}\n" for i in range(100)))
    source = open_source(path, categorical="onehot")
    head = looked_at(source)[0]
    assert words_of(head)
    whole, _ = joined(source)
    known = knowing(source, source.encoding)
    assert not words_of(looked_at(known)[0])
    _, found = read_apart(known, 100, monkeypatch)
    np.testing.assert_array_equal(joined(found)[0], whole)


def test_what_no_other_process_can_read_is_refused():
    with pytest.raises(ValueError, match="not in files"):
        cut(open_source("checkerboard"), 2)


def test_renumbered_features_are_refused(rows, tmp_path):
    convert(rows, tmp_path / "rows.libsvm")
    with pytest.raises(ValueError, match="renumbers"):
        cut(open_source(tmp_path / "rows.libsvm", renumber=True), 2)


def test_a_piece_is_known_by_its_place(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(cutting, "_LEAST_BYTES", 1000)
    convert(rows, tmp_path / "rows.csv")
    pieces = cut(ChainedSource([open_source(tmp_path / "rows.csv"), rows]), 2)
    places = [place_of(piece) for piece in pieces]
    assert len({str(place) for place in places}) == len(pieces)
