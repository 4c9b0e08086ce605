"""Laws of streams: many files are one, blocks read ahead are the same blocks, a pipe is served as it flows."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from kernelstream.engine.cores import ask, available
from kernelstream.sources import (
    ArraySource,
    ChainedSource,
    Hyperplane,
    LibsvmSource,
    Peekable,
    ReadAhead,
    Scaled,
    Shuffled,
    Source,
    SourceError,
    StandardInput,
    chaotic,
    fit_scaling,
    open_source,
)

ROOT = Path(__file__).parents[1]
SOME_TEXT = b"1 1:0.5 3:-2e-3\n-1 2:7\n+1 # nothing but a label\n1 1:1 2:2 4:4\n"
FEW_ROWS = b"a,b,label\n1,2,0\n3,4.5,1\n"


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def whole(source):
    blocks = list(source)
    width = blocks[-1][0].shape[1]
    rows = [np.pad(dense(X), [(0, 0), (0, width - X.shape[1])]) for X, _ in blocks]
    return np.concatenate(rows), np.concatenate([y for _, y in blocks])


def same(left, right):
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(left, right, strict=True))


# Several files as one


def test_a_directory_is_its_files_in_the_order_of_their_names(tmp_path):
    write(tmp_path / "b.svm.xz", lzma.compress(SOME_TEXT))
    write(tmp_path / "a.libsvm", b"-1 9:1\n")
    write(tmp_path / "c.txt.gz", gzip.compress(b"1 1:3\n" * 5))
    for ignored in ("README.md", ".hidden.svm", "deeper/d.svm"):
        write(tmp_path / ignored, b"no rows\n")
    source = open_source(tmp_path, block_rows=3)
    X, y = whole(source)
    assert source.name == tmp_path.name and source.n_rows is None and source.restartable
    assert y.tolist() == [-1, 1, -1, 1, 1, 1, 1, 1, 1, 1] and X.shape == (10, 9)
    assert {block.shape[1] for block, _ in source} == {9}, "a later file never narrows the rows"
    assert same(whole(source), (X, y))


def test_a_pattern_is_the_files_that_it_matches(tmp_path):
    for number in (2, 10, 1):
        write(tmp_path / f"part-{number:02}.csv", b"a,b,label\n%d,2,0\n" % number)
    write(tmp_path / "other.csv", FEW_ROWS)
    assert whole(open_source(f"{tmp_path}/part-*.csv"))[0][:, 0].tolist() == [1, 2, 10]
    assert whole(open_source(f"{tmp_path}/part-0[12].csv"))[0][:, 0].tolist() == [1, 2]


def test_an_empty_match_says_what_was_looked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file that matches '.*part-\*'"):
        open_source(f"{tmp_path}/part-*")
    write(tmp_path / "notes.md", b"")
    with pytest.raises(FileNotFoundError, match=r"suffix of a known format \(libsvm, csv, .*\) in the directory"):
        open_source(tmp_path)
    with pytest.raises(ValueError, match="no source to chain"):
        ChainedSource([])


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (ArraySource(np.ones((2, 4)), [0, 1], name="wide"), "wide: rows of 4 features come after rows of 3 features"),
        (ArraySource(sp.csr_array((2, 3)), [0, 1], name="thin"), "thin: sparse rows come after rows of 3 features"),
        (ArraySource(np.ones((2, 3)), ["a", "b"], name="words"), "words: labels that are words come after labels that"),
    ],
)
def test_parts_that_do_not_agree_are_refused_by_name(second, complaint):
    rows = iter(ChainedSource([ArraySource(np.ones((2, 3)), [0, 1], name="first"), second]))
    assert len(next(rows)[1]) == 2
    with pytest.raises(SourceError, match=complaint) as caught:
        next(rows)
    assert "(from first on)" in str(caught.value)


def test_a_chain_knows_its_rows_when_all_parts_do():
    parts = [ArraySource(np.ones((n, 1)), np.zeros(n), name=str(n)) for n in (3, 4)]
    assert ChainedSource(parts).n_rows == 7 and ChainedSource(parts).name == "3+4"


def test_the_progress_of_a_chain_is_weighted_by_file_size(tmp_path):
    write(tmp_path / "1.svm", SOME_TEXT * 100)
    write(tmp_path / "2.svm", SOME_TEXT * 300)
    source = open_source(tmp_path, block_rows=400)
    seen = [source.progress(), *(source.progress() for _ in source), source.progress()]
    assert seen == sorted(seen) and seen[0] == 0.0 and seen[1] == 0.25 and seen[-1] == 1.0


def test_a_chain_collects_what_its_parts_skipped_and_noticed(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.svm", b"1 qid:1 1:1\nbad bad\n1 1:1\n")
    source = ChainedSource([LibsvmSource(tmp_path / f"{name}.svm", on_error="skip") for name in "ab"])
    for _ in range(2):
        assert len(whole(source)[1]) == 4 and source.skipped == 2
        assert sum("a.svm, line 2" in notice for notice in source.notices) == 1
        assert sum("b.svm, line 2" in notice for notice in source.notices) == 1
        assert sum("qid:" in notice for notice in source.notices) == 1
    with contextlib.closing(iter(source)) as rows:
        next(rows)
    assert source.skipped == 1


PARTS = [
    "color,x,size,y\nred,1,big,yes\nblue,,small,no\n",
    "color,x,size,y\n",
    "color,x,size,y\n7,,big,1\ngreen,5,big,no\nblue,,7,yes\n",
    "red,3,small,no\nteal,4,big,yes\n",
]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("categorical", ["onehot", "hash"])
@pytest.mark.parametrize("block_rows", [1, 2, 100])
def test_a_chain_of_tables_equals_the_tables_put_together(tmp_path, suffix, categorical, block_rows):
    pack = gzip.compress if suffix.endswith(".gz") else bytes
    for number, part in enumerate(PARTS):
        write(tmp_path / "parts" / f"{number}{suffix}", pack(part.encode()))
    together = PARTS[0] + "".join(part.removeprefix("color,x,size,y\n") for part in PARTS[1:])
    options = {"categorical": categorical, "missing": "mean", "block_rows": block_rows}
    one = open_source(write(tmp_path / f"one{suffix}", pack(together.encode())), **options)
    chain = open_source(tmp_path / "parts", **options)
    for _ in range(2):
        assert same(whole(chain), whole(one)) and chain.encoding == one.encoding is not None
    assert same(whole(open_source(tmp_path / "parts", **options | {"encoding": one.encoding})), whole(one))
    later = chain.sources[2]
    alone = open_source(tmp_path / "parts" / f"2{suffix}", **options)
    assert same(whole(later), whole(alone)), "a part read by itself does not know of the others"


def test_a_chain_of_parquet_files_shares_its_categories(tmp_path):
    words = [["red", "blue"], ["green", "red"], ["blue", "teal"]]
    for number, colors in enumerate(words):
        table = pa.table({"color": colors, "x": [1.0, 2.0], "y": [0, 1]})
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet")
    source = open_source(tmp_path, categorical="onehot")
    X, _ = whole(source)
    order = [category for _, category in source.encoding["categories"]]
    assert order == ["red", "blue", "green", "teal"]
    assert [order[place] for place in X[:, 1:].argmax(axis=1)] == [word for colors in words for word in colors]


def test_tables_whose_columns_differ_are_not_chained(tmp_path):
    write(tmp_path / "a.csv", b"color,x,y\nred,1,0\n")
    write(tmp_path / "b.csv", b"color,z,y\nred,1,0\n")
    with pytest.raises(
        SourceError, match=r"b\.csv: the numeric columns are \['z'\], those of a\.csv above it are \['x'\]"
    ):
        list(open_source(tmp_path, categorical="onehot"))
    write(tmp_path / "a.csv", b"1,2,0\n")
    write(tmp_path / "b.csv", b"1,2,3,0\n")
    with pytest.raises(
        SourceError, match=r"b\.csv: the rows have 3 numbers, those of a\.csv above it 2; give the file"
    ):
        list(open_source(tmp_path, missing="mean"))


@pytest.mark.parametrize(
    "derived",
    [
        ReadAhead,
        Peekable,
        lambda source: Shuffled(source, 0),
        lambda source: Scaled(source, fit_scaling(source, "minmax")),
    ],
    ids=["ReadAhead", "Peekable", "Shuffled", "Scaled"],
)
def test_a_derived_source_tells_what_its_source_tells(tmp_path, derived):
    path = write(tmp_path / "a.csv", b"color,x,y\nred,1,0\nred,bad,1\nblue,2,1\n")
    source = open_source(path, categorical="onehot", categorical_columns=["color"], on_error="skip")
    made = derived(source)
    assert len(whole(made)[1]) == 2
    assert made.skipped == 1 and len(made.notices) == 1 and "line 3" in made.notices[0]
    assert made.encoding == source.encoding and len(made.encoding["categories"]) == 2
    assert made.restartable and made.name == "a" and made.progress() == 1.0
    assert not derived(OnlyOnce()).restartable


class OnlyOnce(ArraySource):
    restartable = False

    def __init__(self):
        super().__init__(np.ones((2, 1)), [0, 1])


# Looking at the first rows, reading ahead


class Slow(Source):
    """Ten blocks; reading one takes `seconds`, and number `fails` cannot be read."""

    name, n_rows = "slow", 10

    def __init__(self, seconds=0.0, fails=None):
        self.seconds, self.fails = seconds, fails
        self.read, self.closed = 0, 0

    def __iter__(self):
        self.read = 0
        try:
            for number in range(10):
                time.sleep(self.seconds)
                if number == self.fails:
                    raise SourceError("broken", path=Path("slow"))
                self.read += 1
                yield np.full((1, 1), number), np.zeros(1)
        finally:
            self.closed += 1

    def progress(self):
        return self.read / 10


def test_the_pass_after_a_peek_goes_on_from_there():
    source = Slow()
    first = Peekable(source)
    assert [X.item() for X, _ in first.peek(3)] == [0, 1, 2] and source.read == 3
    assert len(first.peek(2)) == 3 and source.read == 3, "what was looked at is not read again"
    assert whole(first)[0].ravel().tolist() == list(range(10)) and source.closed == 1
    assert len(whole(first)[1]) == 10 and source.closed == 2, "the pass after that is a fresh one"
    assert len(first.peek(99)) == 10


def test_leaving_a_pass_after_a_peek_closes_the_source():
    source = Slow()
    first = Peekable(source)
    first.peek(3)
    blocks = iter(first)
    next(blocks)
    blocks.close()
    assert source.closed == 1


@pytest.mark.parametrize("depth", [1, 2, 50])
def test_blocks_read_ahead_are_the_same_blocks(tmp_path, depth, none_is_at_work):
    text = b"1 qid:2 1:1\nbad bad\n2,3 x\n" + SOME_TEXT * 500
    source = LibsvmSource(write(tmp_path / "some.svm", text), block_rows=64, chunk_bytes=999, on_error="skip")
    ahead = ReadAhead(source, depth)
    expected = list(source)
    for _ in range(2):
        for (X, y), (X_read, y_read) in zip(expected, list(ahead), strict=True):
            assert same((dense(X), y), (dense(X_read), y_read))
        assert (ahead.skipped, ahead.notices, ahead.progress()) == (source.skipped, source.notices, 1.0)
    assert (ahead.name, ahead.n_rows, ahead.restartable) == ("some", None, True)
    assert ahead.skipped == 2 and len(ahead.notices) == 2 and none_is_at_work()


def test_no_more_than_depth_blocks_are_read_ahead():
    source = Slow()
    ahead = ReadAhead(source, 3)
    with contextlib.closing(iter(ahead)) as rows:
        next(rows)
        time.sleep(0.1)
        assert source.read == 4
        assert ahead.progress() == 0.1, "progress is that of the block served"


def test_an_error_comes_where_its_block_would_have_come(none_is_at_work):
    rows = iter(ReadAhead(Slow(fails=4)))
    assert [int(next(rows)[0][0, 0]) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(SourceError, match="broken"):
        next(rows)
    assert none_is_at_work()


@pytest.mark.parametrize("leave", [None, RuntimeError, KeyboardInterrupt])
def test_leaving_early_ends_the_reading_and_closes_the_source(leave, none_is_at_work):
    source = Slow(seconds=0.02)
    with contextlib.suppress(RuntimeError, KeyboardInterrupt):
        for _ in ReadAhead(source):
            if leave is None:
                break
            raise leave
    assert none_is_at_work() and source.closed == 1 and source.read < 10


def test_reading_overlaps_with_the_consumers_work():
    def seconds(source):
        start = time.perf_counter()
        for _ in source:
            time.sleep(0.02)
        return time.perf_counter() - start

    assert seconds(ReadAhead(Slow(0.02))) < 0.8 * seconds(Slow(0.02))


def test_who_finds_no_helper_reads_by_itself(none_is_at_work):
    busy = threading.Event()
    held = [ask(busy.wait) for _ in range(available())]
    rows = iter(ReadAhead(Slow()))
    first = [int(next(rows)[0][0, 0]) for _ in range(4)]
    busy.set()
    assert first + [int(X[0, 0]) for X, _ in rows] == list(range(10))
    assert all(one.result() for one in held) and none_is_at_work()


def test_reading_ahead_may_be_nested():
    assert [int(X[0, 0]) for X, _ in ReadAhead(ReadAhead(Slow()))] == list(range(10))


def test_read_ahead_refuses_a_depth_below_one():
    with pytest.raises(ValueError, match="depth is 0; it must be at least 1"):
        ReadAhead(Slow(), 0)


# Standard input

SCRIPT = """
import sys
from kernelstream.sources import ReadAhead, open_source
source = open_source("-", block_rows=int(sys.argv[1]), format=sys.argv[2], on_error="skip")
{before}
for X, y in source:
    print(X.shape, y.tolist(), flush=True)
{after}
"""


def reader(form="libsvm", *, block_rows=4, before="", after="", **pipes):
    """A process that prints the blocks of its standard input."""
    script = SCRIPT.format(before=before, after=after)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, str(block_rows), form],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, **pipes,
    )  # fmt: skip


def output(text, form="libsvm", **options):
    out, err = reader(form, **options).communicate(text, timeout=60)
    return out.decode().splitlines(), err.decode()


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, bz2.compress, zstd])
def test_standard_input_equals_the_file(tmp_path, monkeypatch, compress):
    path = write(tmp_path / "some.svm", SOME_TEXT * 10)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(compress(SOME_TEXT * 10))))
    assert same(whole(open_source("-", block_rows=7)), whole(LibsvmSource(path)))


def test_a_pipe_equals_the_file(tmp_path):
    path = write(tmp_path / "some.svm", SOME_TEXT * 9999 + b"1 5:1")
    X, y = whole(LibsvmSource(path))
    lines, errors = output(path.read_bytes(), block_rows=7000)  # a pause of the writer may end a block early
    labels = [float(label) for line in lines for label in line.partition("[")[2].rstrip("]").split(",")]
    assert errors == "" and labels == y.tolist() and f", {X.shape[1]})" in lines[-1]


def test_standard_input_may_be_csv():
    assert output(FEW_ROWS + b"5,x,1\n6,7,1", "csv")[0] == ["(3, 2) [0.0, 1.0, 1.0]"]


def test_standard_input_tells_its_encoding_and_may_have_no_labels(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"color,x\nred,1\nblue,2\n")))
    source = open_source("-", format="csv", categorical="onehot", label=None, header=None)
    X, y = whole(source)
    assert X.tolist() == [[1, 1, 0], [2, 0, 1]] and np.isnan(y).all()
    assert source.encoding["categories"] == [["color", "red"], ["color", "blue"]]


def test_standard_input_reports_what_it_skipped():
    lines, _ = output(b"bad bad\n" + SOME_TEXT, after="print(source.skipped, source.notices, source.progress())")
    assert lines[0].startswith("(4, 4)") and lines[1].startswith("1 (") and "standard input, line 1" in lines[1]


def test_a_peek_is_served_again_and_a_second_pass_is_refused():
    before = "assert not source.restartable\nprint([len(y) for _, y in source.peek(5)], len(source.peek(1)))"
    lines, errors = output(SOME_TEXT * 3, before=before, after="list(source)")
    assert lines[0] == "[4, 4] 2" and len(lines) == 4
    assert "standard input: it can be read only once; save it to a file and open that" in errors


def test_damaged_compression_on_standard_input_is_refused():
    assert "standard input: it cannot be read" in output(gzip.compress(SOME_TEXT * 999)[:-20])[1]


def send(process, text):
    process.stdin.write(text)
    process.stdin.flush()


def test_a_live_pipe_is_served_as_its_rows_arrive():
    with reader(block_rows=1000) as process:
        send(process, SOME_TEXT)
        assert process.stdout.readline() == b"(4, 4) [1.0, -1.0, 1.0, 1.0]\n"
        start = time.perf_counter()
        send(process, b"1 1:1\n-1 2:1\n1 7:")
        assert process.stdout.readline() == b"(2, 4) [1.0, -1.0]\n", "half a line waits for its other half"
        send(process, b"1\n")
        assert process.stdout.readline() == b"(1, 7) [1.0]\n"
        assert time.perf_counter() - start < 5
        for _ in range(20):
            send(process, b"1 1:1\n")
            time.sleep(0.05)
        process.stdin.close()
        blocks = process.stdout.read().splitlines()
        assert 2 <= len(blocks) < 20, "a steady trickle is served too, some rows at a time"
        assert process.wait(30) == 0


def test_a_live_csv_is_served_as_its_rows_arrive():
    with reader("csv", block_rows=1000) as process:
        send(process, FEW_ROWS)
        assert process.stdout.readline() == b"(2, 2) [0.0, 1.0]\n"
        start = time.perf_counter()
        send(process, b"5,6,0\n7,8,1\n9,")
        assert process.stdout.readline() == b"(2, 2) [0.0, 1.0]\n", "half a line waits for its other half"
        send(process, b"10,1\nx,1,1\n")
        assert process.stdout.readline() == b"(1, 2) [1.0]\n"
        assert time.perf_counter() - start < 5
        send(process, b"1,1,0\n" * 2500)
        process.stdin.close()
        sizes = [int(line[1:].partition(b",")[0]) for line in process.stdout.read().splitlines()]
        assert sum(sizes) == 2500 and max(sizes) == 1000, "what comes at once is served in whole blocks"
        assert process.wait(30) == 0


def test_leaving_a_silent_pipe_ends_the_process():
    leave = "for X, y in ReadAhead(source):\n    print(len(y), flush=True)\n    break\nsys.exit()"
    with reader(before=leave) as process:
        send(process, SOME_TEXT)
        assert process.stdout.readline() == b"4\n"
        assert process.wait(30) == 0 and process.stderr.read() == b""


def test_an_interrupt_ends_the_wait_for_a_silent_pipe():
    handler = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)"
    with reader(before=handler) as process:
        send(process, SOME_TEXT)
        assert process.stdout.readline().startswith(b"(4, 4)")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) != 0 and b"KeyboardInterrupt" in process.stderr.read()


def test_standard_input_refuses_what_cannot_be_streamed():
    with pytest.raises(ValueError, match="the format of standard input is 'npz'; it must be one of libsvm, csv"):
        open_source("-", format="npz")
    with pytest.raises(TypeError, match="no option lable"):
        StandardInput(lable=3)


# Generators and names


@pytest.mark.parametrize("name", ["checkerboard", "hyperplane", "hyperplane:features=3"])
def test_generated_rows_depend_on_seed_and_position_only(name):
    joint = ":" if ":" not in name else ","
    X, y = whole(open_source(f"{name}{joint}rows=3000,seed=3"))
    for block_rows in (1, 7, 1000):
        assert same(whole(open_source(f"{name}{joint}rows=3000,seed=3", block_rows=block_rows)), (X, y))
    later = whole(open_source(f"{name}{joint}rows=500,start=1234,seed=3"))
    assert same(later, (X[1234:1734], y[1234:1734]))
    assert not np.array_equal(whole(open_source(f"{name}{joint}rows=3000"))[0], X)
    assert set(y) == {-1.0, 1.0} and abs(X).max() <= 1 and abs(y.mean()) < 0.1


def test_the_checkerboard_rotates_and_a_quarter_turn_swaps_its_colours():
    def agreement_with_the_board_at_rest(start):
        X, y = whole(open_source(f"checkerboard:start={start},rows=500"))
        return np.mean(np.where(np.floor(2 * X).sum(axis=1) % 2 == 0, 1.0, -1.0) == y)

    assert agreement_with_the_board_at_rest(0) > 0.9
    assert 0.3 < agreement_with_the_board_at_rest(12_500) < 0.7
    assert agreement_with_the_board_at_rest(25_000) < 0.1
    assert agreement_with_the_board_at_rest(100_000) > 0.9


def test_the_hyperplane_drifts_and_one_label_in_twenty_is_wrong():
    source = Hyperplane(20_000, n_features=6, seed=1)
    X, y = whole(source)
    angle = 2 * np.pi * np.arange(len(y)) / 100_000
    margin = np.cos(angle) * (X @ source.axes[:, 0]) + np.sin(angle) * (X @ source.axes[:, 1])
    assert abs(np.mean(np.sign(margin) != y) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / len(y))
    assert np.allclose(source.axes.T @ source.axes, np.eye(2))
    first = np.sign(X @ source.axes[:, 0])
    assert np.mean(first[:1000] == y[:1000]) > 0.9 and np.mean(first[-1000:] == y[-1000:]) < 0.75


@pytest.mark.parametrize("name", ["mackey-glass", "mackey-glass:tau=17,horizon=6", "lorenz", "lorenz:noise=0.1"])
def test_rows_of_a_series_depend_on_seed_and_position_only(name):
    joint = ":" if ":" not in name else ","
    X, y = whole(open_source(f"{name}{joint}rows=600,seed=3"))
    for block_rows in (1, 100):
        assert same(whole(open_source(f"{name}{joint}rows=600,seed=3", block_rows=block_rows)), (X, y))
    assert same(whole(open_source(f"{name}{joint}rows=200,start=123,seed=3")), (X[123:323], y[123:323]))
    assert not np.array_equal(whole(open_source(f"{name}{joint}rows=600"))[0], X)
    source = open_source(f"{name}{joint}rows=600,seed=3")
    assert np.array_equal(X[1:, :-1], X[:-1, 1:])  # the values move on
    assert np.array_equal(y[: -source.horizon], X[source.horizon :, -1])
    assert 0.2 < y.std() < 1.2


def test_the_mackey_glass_series_solves_its_equation(monkeypatch):
    monkeypatch.setattr(chaotic, "TRANSIENT", 0)
    tau, h, units = 17, 0.002, 120
    x = [0.9] * (1 + int(tau / h))  # Heun's method, with steps a fiftieth as long
    for _ in range(int(units / h)):
        now, past, after = x[-1], x[-1 - int(tau / h)], x[-int(tau / h)]
        slope = 0.2 * past / (1 + past**10) - 0.1 * now
        there = 0.2 * after / (1 + after**10) - 0.1 * (now + h * slope)
        x.append(now + h / 2 * (slope + there))
    found = chaotic.mackey_glass(units // 6, tau, 6, 0.9)
    np.testing.assert_allclose(found, x[int(tau / h) :: int(6 / h)][: len(found)], atol=1e-5)
    monkeypatch.setattr(chaotic, "STEPS", 20)
    np.testing.assert_allclose(chaotic.mackey_glass(units // 6, tau, 6, 0.9), found, atol=1e-6)


def test_the_lorenz_series_solves_its_equations():
    from scipy.integrate import solve_ivp

    def slope(t, state):
        x, y, z = state
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    known = chaotic.lorenz(chaotic.LORENZ_TRANSIENT, 1, 3.0)
    assert known.std() == pytest.approx(8, rel=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chaotic, "LORENZ_TRANSIENT", 0)
        found = chaotic.lorenz(100, 1, 3.0)
    exact = solve_ivp(slope, (0, 1), (3.0, 1.0, 25.0), t_eval=0.01 * np.arange(100), rtol=1e-11, atol=1e-11).y[0]
    np.testing.assert_allclose(found, exact, atol=1e-4)


def test_options_of_generators_are_checked():
    assert open_source("multidist:rows=7,seed=3").n_rows == 7 and open_source("multidist-test").n_rows == 2500
    assert same(whole(open_source("multidist-test")), whole(open_source("multidist:rows=2500,start=5000")))
    with pytest.raises(ValueError, match=r"checkerboard has no option 'size'; it has rows, start, seed$"):
        open_source("checkerboard:size=3")
    with pytest.raises(ValueError, match="hyperplane has no option 'x'; it has rows, start, seed, features"):
        open_source("hyperplane:x=3")
    with pytest.raises(ValueError, match="seed is 'three'; write a whole number, as in seed=3"):
        open_source("checkerboard:seed=three")
    with pytest.raises(ValueError, match="n_features is 1"):
        open_source("hyperplane:features=1")
    with pytest.raises(ValueError, match=r"noise is 'loud'; write a number, as in noise=0\.1"):
        open_source("lorenz:noise=loud")
    with pytest.raises(ValueError, match=r"noise is -1\.0; it is a standard deviation"):
        open_source("mackey-glass:noise=-1")
    with pytest.raises(ValueError, match="tau is 0"):
        open_source("mackey-glass:tau=0")


def test_an_unknown_name_shows_near_ones(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file 'chekerboard', did you mean checkerboard"):
        open_source("chekerboard")
    write(tmp_path / "train.csv", FEW_ROWS)
    with pytest.raises(FileNotFoundError, match=r"did you mean .*train\.csv\?"):
        open_source(tmp_path / "trian.csv")
    with pytest.raises(FileNotFoundError, match=r"built-in names are digits.*multidist.*cod-rna"):
        open_source("nothing like it")
