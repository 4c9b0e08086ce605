"""Laws of what people really hand in: no traceback, no hang, an error that names the place and a remedy that works."""

import gzip
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kernelstream import (
    RBP,
    Binary,
    FourierFeatures,
    Learner,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    Regression,
)
from kernelstream.cli import app
from kernelstream.cli.hints import hints
from kernelstream.cli.request import RunRequest
from kernelstream.client.rows import Rows
from kernelstream.report import words
from kernelstream.sources import SourceError, open_source
from kernelstream.sources.survey import Survey

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "COLUMNS": "100"}
COMMAND = [sys.executable, "-m", "kernelstream"]


def call(*arguments, stdin=None):
    options = ("--algorithm", "rbp") if arguments[0] == "run" and "--algorithm" not in arguments else ()
    arguments = [str(argument) for argument in (*arguments, *options)]
    return CliRunner().invoke(app, arguments, input=stdin, env={"COLUMNS": "100"})


def refused(answer, *parts):
    assert answer.exit_code == 2, (answer.output, answer.exception)
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("kernelstream: ")
    for part in parts:
        assert part in last
    return last


def done(*arguments):
    answer = call(*arguments)
    assert answer.exit_code == 0, (answer.output, answer.exception)
    return answer


def npy(header, data=bytes(80)):
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


ROWS = "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(60))
FILES = {
    "random.csv": np.random.default_rng(0).bytes(3000),
    "nul.csv": b"a,b,c\n1,2\0,3\n",
    "shape.npy": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1000000000000), }\n"),
    "huge.npy.gz": gzip.compress(npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1000000000000), }\n")),
    "negative.npy": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 5), }\n"),
    "header.npy": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, \n"),
    "object.npy": npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }\n"),
    "wide.libsvm": b"1 1:1\n-1 1000000000:1\n",
    "infinite.libsvm": b"1 1:1\n-1 2:inf\n",
    "label.libsvm": b"1 1:1\ninf 2:1\n",
    "infinite.csv": ROWS.encode() + b"1,inf,0\n",
    "overflow.csv": ROWS.encode() + b"1,1e999,0\n",
    "empty.csv": b"",
    "header.csv": b"a,b,c\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_refused_by_name(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    start = time.monotonic()
    refused(call("run", tmp_path / name), Path(name).name.partition(".")[0])
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("infinite.libsvm", "line 2, column 6: the value 'inf'"),
        ("label.libsvm", "line 2, column 1: the label 'inf'"),
        ("infinite.csv", "line 61, column 2: the value 'inf' of '#2'"),
        ("overflow.csv", "line 61, column 2: the value '1e999' of '#2'"),
        ("wide.libsvm", "line 2, column 4: the index of '1000000000:1' is above the limit of 1048576"),
    ],
)
def test_an_error_names_the_line(tmp_path, name, place):
    (tmp_path / name).write_bytes(FILES[name])
    refused(call("run", tmp_path / name), place)


def test_rows_that_are_not_finite_can_be_skipped(tmp_path):
    (tmp_path / "a.csv").write_text(ROWS + "1,inf,0\n" + ROWS)
    assert "1 row could not be read" in done("run", tmp_path / "a.csv", "--on-error", "skip").stderr


def test_a_wide_file_is_read_when_it_is_asked_for(tmp_path):
    (tmp_path / "a.libsvm").write_text("1 1:1\n-1 1048577:1\n")
    with pytest.raises(SourceError, match="max_features"):
        list(open_source(tmp_path / "a.libsvm"))
    ((X, _),) = open_source(tmp_path / "a.libsvm", max_features=2_000_000)
    assert X.shape == (2, 1048577)


HASHED = "1 7:1 1000000000:2\n-1 3:1 7:4\n1 2147483646:1 2147483647:5\n-1 3:2 1000000000:1\n"


@pytest.mark.parametrize("block_rows", [1, 2, 100])
def test_renumbered_features_get_columns_as_they_appear(tmp_path, block_rows):
    (tmp_path / "a.libsvm").write_text(HASHED)
    source = open_source(tmp_path / "a.libsvm", renumber=True, block_rows=block_rows)
    rows = np.concatenate([np.pad(X.toarray(), ((0, 0), (0, 5 - X.shape[1]))) for X, _ in source])
    assert rows.tolist() == [[1, 2, 0, 0, 0], [4, 0, 1, 0, 0], [0, 0, 0, 1, 5], [0, 1, 2, 0, 0]]
    assert source.encoding == {"renumbered": [7 - 1, 10**9 - 1, 3 - 1, 2**31 - 3, 2**31 - 2]}
    again = open_source(tmp_path / "a.libsvm", encoding=source.encoding, block_rows=block_rows)
    assert np.array_equal(np.concatenate([X.toarray() for X, _ in again]), rows)


def test_renumbered_features_of_several_files_are_the_same(tmp_path):
    for n, text in enumerate(HASHED.splitlines(keepends=True)):
        (tmp_path / f"{n}.libsvm").write_text(text)
    *_, (X, _) = open_source(tmp_path / "*.libsvm", renumber=True)
    assert X.toarray().tolist() == [[0, 1, 2, 0, 0]]


def test_more_features_than_the_limit_are_refused_though_renumbered(tmp_path):
    (tmp_path / "a.libsvm").write_text(HASHED)
    with pytest.raises(SourceError, match="5 different features are above the limit of 4, which max_features raises"):
        list(open_source(tmp_path / "a.libsvm", renumber=True, max_features=4))


def test_a_model_of_renumbered_features_is_as_large_as_they_are_many_and_knows_them_again(tmp_path):
    (tmp_path / "a.libsvm").write_text(HASHED * 20)
    (tmp_path / "b.libsvm").write_text("1 2147483647:5\n1 9:1 2147483647:5\n")
    refused(call("run", tmp_path / "a.libsvm"), "--max-features", "--renumber")
    done("run", tmp_path / "a.libsvm", "--renumber", "--save", tmp_path / "m.ks")
    assert Learner.load(tmp_path / "m.ks").width == 5
    assert "mistake rate 0" in done("predict", tmp_path / "m.ks", tmp_path / "a.libsvm").stderr
    answer = done("predict", tmp_path / "m.ks", tmp_path / "b.libsvm", "--scores")
    _, known, beside = answer.stdout.splitlines()
    assert known == beside
    assert "Some features are not among those that the model knows" in answer.stderr


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_an_infinite_value_of_an_array_is_named(tmp_path, suffix):
    X = np.ones((70, 3))
    X[65, 1] = np.inf
    path = tmp_path / f"a.{suffix}"
    np.save(path, X) if suffix == "npy" else np.savez(path, X=X, y=X[:, 0])
    with pytest.raises(SourceError, match="row 66, column 2 is inf"):
        list(open_source(path, block_rows=20))


def test_what_a_file_of_settings_says_is_held_to_the_same_limits(tmp_path):
    (tmp_path / "a.toml").write_text("seed = -1\n")
    refused(call("run", "digits", "--config", tmp_path / "a.toml"), "seed = -1", "within 0 and")


def test_more_memory_than_there_is_is_said_in_one_line():
    refused(call("run", "digits", "--set", "budget=2000000000"), "not enough memory", "budget")


@pytest.mark.parametrize("order", [[0.5, 1.5, 2.0], [["a", "b"]], [[[0, 1]]]])
def test_an_order_of_rows_is_whole_numbers(tmp_path, order):
    np.savez(tmp_path / "o.npz", perm=np.array(order))
    refused(call("run", "digits", "--orders", tmp_path / "o.npz"), "perm", "whole numbers")


def test_a_note_beside_the_data_is_no_data(tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "README.txt").write_text("What these files are\n\n1 1:1\n")
    done("run", tmp_path)
    (tmp_path / "a.csv").unlink()
    refused(call("run", tmp_path), "no file with a suffix")
    (tmp_path / "b.txt").write_text("# rows\n1 1:1\n-1 1:2\n")
    done("run", tmp_path)


def test_standard_input_and_pipes_are_named(tmp_path):
    refused(call("run", "-", stdin=""), "standard input has no rows")
    os.mkfifo(tmp_path / "p.csv")
    for text, place in (("1,2,0\n3,oops,1\n", "p.csv, line 2"), ("", "p has no rows")):
        feed = subprocess.Popen(["sh", "-c", f"printf '{text}' > p.csv"], cwd=tmp_path)
        refused(call("run", tmp_path / "p.csv"), place)
        feed.wait()


# CSV.


@pytest.mark.parametrize("block_rows", [3, 4096])
@pytest.mark.parametrize("compressed", ["", ".gz"])
def test_a_quoted_field_may_hold_line_breaks(tmp_path, block_rows, compressed):
    lines = []
    for i in range(60_000):  # more than one piece of text, cut anywhere
        word = f'"line one\nof ""{i}"", and\r\nmore"' if i % 9 == 0 else f"plain{i % 3}"
        lines.append(f"{i},{word},{i % 2}\n")
    text = "n,words,y\n" + "".join(lines)
    path = tmp_path / f"a.csv{compressed}"
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    numbers, labels = [], []
    for X, y in open_source(path, block_rows=block_rows, drop=["words"]):
        numbers.append(X[:, 0])
        labels.append(y)
    assert np.array_equal(np.concatenate(numbers), np.arange(60_000))
    assert np.array_equal(np.concatenate(labels), np.arange(60_000) % 2)


def test_a_quote_that_is_never_closed_spoils_its_own_line_alone(tmp_path):
    good = "".join(f'{i},"a b",{i % 2}\n' for i in range(40))
    (tmp_path / "a.csv").write_text("n,w,y\n" + good + '40,"open,0\n' + good + '41,5" wide,1\n' + good)
    source = open_source(tmp_path / "a.csv", categorical="onehot", on_error="skip")
    rows = sum(len(y) for _, y in source)
    assert rows + source.skipped == 122
    assert source.skipped == 1
    assert "line 42" in source.notices[0]


def test_an_error_behind_a_line_break_names_the_right_line(tmp_path):
    (tmp_path / "a.csv").write_text('n,w,y\n1,"a\nb",0\n2,"c\nd",1\noops,e,0\n')
    refused(call("run", tmp_path / "a.csv", "--drop", "w"), "line 6, column 1: the value 'oops'")


def test_decimal_commas_and_columns_left_out(tmp_path):
    lines = "".join(f"{i},5;2024-01-{1 + i % 28:02};{i % 3},25;{i % 2}\n" for i in range(50))
    (tmp_path / "a.csv").write_text("n;day;b;y\n" + lines)
    refused(call("run", tmp_path / "a.csv"), "--decimal ,")
    refused(call("run", tmp_path / "a.csv", "--delimiter", ";"), "'0,5'", "--decimal ,")
    refused(
        call("run", tmp_path / "a.csv", "--decimal", ",", "--categorical", "refuse"), "2024-01-01", "date", "--drop day"
    )
    done("run", tmp_path / "a.csv", "--decimal", ",")
    done("run", tmp_path / "a.csv", "--decimal", ",", "--drop", "day")
    ((X, y),) = open_source(tmp_path / "a.csv", decimal=",", drop=["day"])
    assert X[3].tolist() == [3.5, 0.25] and y[3] == 1
    ((by_place, _),) = open_source(tmp_path / "a.csv", decimal=",", drop=[1])
    assert np.array_equal(by_place, X)
    refused(call("run", tmp_path / "a.csv", "--decimal", ",", "--drop", "nowhere"), "'nowhere' to drop", "n, day, b, y")
    refused(call("run", tmp_path / "a.csv", "--decimal", ",", "--drop", "y"), "label 'y' is dropped")


def test_a_column_of_a_parquet_file_is_left_out(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    table = pa.table({"a": [1.0, 2.0], "when": ["x", "y"], "label": [0, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    refused(call("run", tmp_path / "a.parquet", "--categorical", "refuse"), "--categorical onehot", "--drop when")
    ((X, _),) = open_source(tmp_path / "a.parquet", drop=["when"])
    assert X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("sign", ["", "ab", '"', "\n"])
def test_a_delimiter_is_one_character(tmp_path, sign):
    (tmp_path / "a.csv").write_text(ROWS)
    refused(call("run", tmp_path / "a.csv", "--delimiter", sign), "delimiter", "one character")


# Words.


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--algorithm", "fogdd"), ("did you mean fogd?",)),
        (("--algorithm", "bsgd"), ("did you mean bsgd-r or bsgd-p or bsgd-m?",)),
        (("--algorithm", "bpa"), ("did you mean bpa-s or bpa-p or bpa-nn?",)),
        (("--algorithm", "fogd", "--set", "kernel=gausian"), ("did you mean gaussian?",)),
        (("--algorithm", "fogd", "--set", "loss=hing"), ("did you mean hinge?",)),
        (("--metrics", "mistakerate"), ("did you mean mistake_rate?",)),
        (("--task", "multi"), ("--task multi must be one of",)),
    ],
)
def test_a_word_that_is_nearly_right_is_recognised(arguments, parts):
    refused(call("run", "digits", *arguments), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b,y\n1,red,0\n2,blue,1\n", ("--categorical onehot", "--drop b")),
        ("a,b,y\n1,,0\n2,3,1\n", ("--missing mean",)),
    ],
)
def test_a_remedy_is_spelled_as_the_option_is_and_works(tmp_path, text, parts):
    (tmp_path / "a.csv").write_text(text)
    told = refused(call("run", tmp_path / "a.csv", "--categorical", "refuse", "--missing", "refuse"), *parts)
    assert "='" not in told
    for part in parts:
        done("run", tmp_path / "a.csv", *part.split())


NUMBERS = [(0.5, 1.25, 0), (1.5, -2.5, 1), (-0.5, 0.25, 0), (2.5, 1.75, 1)] * 10


def lines(rows, between=","):
    return "".join(between.join(map(str, row)) + "\n" for row in rows)


TABLE = lines([("a", "b", "y"), *NUMBERS])
OBJECTS = lines((json.dumps({"a": a, "b": b, "y": y}) for a, b, y in NUMBERS), "")


@pytest.mark.parametrize(
    ("name", "text", "remedies", "parts"),
    [
        ("a.csv", TABLE.replace(",", ";"), ["--delimiter ';'"], ("one column",)),
        ("a.csv", TABLE.replace(",", "\t"), [r"--delimiter '\t'"], ("one column",)),
        ("a.csv", TABLE.replace(",", " "), ["--delimiter ' '"], ("one column",)),
        ("a.csv", TABLE.replace(",", ";").replace(".", ","), ["--decimal ,"], ("semicolons and decimal commas",)),
        ("a.csv", lines([("a", "a", "y"), *NUMBERS]), ["--drop 1"], ("column 2: two columns are named 'a'",)),
        ("a.csv", lines([("a", "y", "y"), *NUMBERS]), ["--drop 1"], ("two columns are named 'y'",)),
        ("a.csv", TABLE.replace("\n", ",\n"), ["--drop ''", "--label y"], ("lines end in the delimiter",)),
        ("a.txt", TABLE, ["--format csv"], ("'a,b,y' is several labels",)),
        ("a", TABLE, ["--format csv"], ("no known suffix",)),
    ],
)
def test_a_table_of_another_shape_is_told_what_reads_it(tmp_path, name, text, remedies, parts):
    (tmp_path / name).write_text(text)
    refused(call("run", tmp_path / name), *remedies, *parts)
    done("run", tmp_path / name, *shlex.split(" ".join(remedies)))


@pytest.mark.parametrize(
    ("name", "data", "parts"),
    [
        *(
            (name, text.encode(code), ("this is UTF-16, or no text", f"iconv -f UTF-16 -t UTF-8 {name} > new"))
            for code in ("utf-16", "utf-16-le", "utf-16-be")
            for name, text in (
                ("a.csv", TABLE),
                ("a.jsonl", OBJECTS),
                ("a.arff", "@relation r\n@attribute a real\n@attribute y real\n@data\n1,2\n"),
                ("a.libsvm", "1 1:2\n0 1:3\n"),
            )
        ),
        ("a.csv", TABLE.replace("a", "gr\xf6\xdfe", 1).encode("latin-1"), ("line 1: this is no UTF-8 text", "iconv")),
        (
            "a.csv",
            "a,s,y\n1,rot,0\n2,gr\xfcn,1\n3,rot,1\n".encode("latin-1"),
            ("line 3: this is no UTF-8 text", "iconv"),
        ),
        ("a.csv", TABLE.replace("\n", "\r").encode(), ("carriage return alone", r"tr '\r' '\n'")),
        ("a.csv", b"# made in May\n" + TABLE.encode(), ("line 1: one field, and 3 below it", "remove the line")),
        ("a.csv", b"sheet 1,,\n" + TABLE.encode(), ("line 1: the header seems to come below; remove this line",)),
        ("a.csv", b"<!DOCTYPE html>\n<p>404</p>\n", ("this is a page ('<!DOCTYPE html>')",)),
        ("a.csv", b"a,b,y\n1,2,0,\n3,4,1,\n", ("3 fields, and 4 below them", "give each column its name")),
        ("a.csv", TABLE.replace("1.5", '"1,501.5"').encode(), ("'1,501.5' of 'a'", "while signs part its digits")),
        ("a.csv", b"a,b,y\n1,2,0\n", ("there is one row, and its label is 0; give rows of two classes",)),
        ("a.jsonl", b"what\n" + OBJECTS.encode(), ("line 1: this is no JSON object (Expecting value at character 1)",)),
        ("a.jsonl", b"what\nis this\n", ("line 1: this is no JSON object",)),
        ("a.jsonl", json.dumps([{"a": 1, "y": 2}]).encode(), ("this is list", "jq -c '.[]' FILE > NEW")),
        ("a.jsonl", json.dumps([{"a": 1, "y": 2}], indent=1).encode(), ("line 1", "jq -c '.[]' FILE > NEW")),
        ("a.jsonl", json.dumps({"a": 1, "y": 2}, indent=1).encode(), ("line 1", "jq -c . FILE > NEW")),
        ("a.jsonl", b'{"a": 1, "a": 2, "y": 0}\n', ("line 1: the name 'a' stands here twice; rename one",)),
    ],
)
def test_what_is_wrong_with_a_whole_file_is_said(tmp_path, name, data, parts):
    (tmp_path / name).write_bytes(data)
    refused(call("run", tmp_path / name), *parts)


def test_the_first_row_may_lack_all_numbers_below_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,kind\n,NA,red\n,2,blue\n1,3,red\n")
    source = open_source(tmp_path / "a.csv")
    ((X, y),) = source
    assert source.feature_names == ["a", "b"]
    assert X.tolist() == [[0, 0], [0, 2], [1, 3]] and y.tolist() == ["red", "blue", "red"]


@pytest.mark.parametrize("end", ["csv", "parquet", "arrow", "jsonl"])
def test_two_columns_of_a_name_are_refused_by_every_format(tmp_path, end):
    path = tmp_path / f"a.{end}"
    table = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3 + [pa.array([0, 1])], ["a", "b", "a", "y"])
    if end == "parquet":
        pq.write_table(table, path)
    elif end == "arrow":
        feather.write_feather(table, path)
    else:
        path.write_text("a,b,a,y\n1,1,1,0\n" if end == "csv" else '{"a": 1, "b": 1, "a": 1, "y": 0}\n')
    with pytest.raises(SourceError, match="stands here twice" if end == "jsonl" else "two columns are named 'a'"):
        list(open_source(path))
    if end != "jsonl":
        assert [X.shape[1] for X, _ in open_source(path, drop=[2])] == [2]


def test_zero_based_files_are_told_how(tmp_path):
    (tmp_path / "a.libsvm").write_text("1 0:1\n-1 0:2\n")
    assert refused(call("run", tmp_path / "a.libsvm")).endswith("open it with --zero-based")


def test_metrics_and_completion_are_in_the_help():
    assert "balanced_error" in call("run", "--help").output
    assert "--install-completion" in call("--help").output


@pytest.mark.parametrize(
    ("form", "head", "label", "remedy"),
    [
        (
            "csv",
            "a,day of,b,y",
            "-1",
            "'day of' counts the rows; if that is all it does, leave it out with --drop 'day of'",
        ),
        ("csv", "", "-1", "column 1 (from 0) counts the rows; if that is all it does, leave it out with --drop 1"),
        ("csv", "", "0", "column 2 (from 0) counts the rows; if that is all it does, leave it out with --drop 2"),
        ("libsvm", "", None, "feature 1 (from 0) counts the rows; if that is all it does, leave it out of the data"),
    ],
)
def test_the_column_that_counts_the_rows_is_called_as_drop_takes_it(tmp_path, form, head, label, remedy):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    columns = [rows[:, 0], np.arange(300), rows[:, 1]]
    columns.insert(0 if label == "0" else 3, np.arange(300) % 2)
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    if form == "libsvm":
        lines = [f"{y} 1:{a} 2:{i + 1} 3:{b}" for a, i, b, y in zip(*columns, strict=True)]
    path = tmp_path / f"rows.{form}"
    path.write_text("\n".join([head, *lines] if head else lines) + "\n")
    reading = () if label is None else (f"--label={label}",)
    told = " ".join(done("run", path, *reading).stderr.split())
    assert remedy in told
    if "--drop" in remedy:
        assert (
            "counts the rows" not in done("run", path, *reading, *shlex.split(remedy[remedy.index("--drop") :])).stderr
        )


def test_hints_are_given_once_and_only_where_they_help(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 1.0, 1e4]
    lines = [f"{i},{a},{b},{c},{i % 2}\n" for i, (a, b, c) in enumerate(X)]
    (tmp_path / "a.csv").write_text("row,a,b,c,y\n" + "".join(lines))
    told = done("run", tmp_path / "a.csv").stderr
    assert told.count("nothing scales them; try --scale online") == 1
    assert told.count("'row' counts the rows; if that is all it does, leave it out with --drop row") == 1
    assert "nothing scales" not in done("run", tmp_path / "a.csv", "--scale", "online").stderr
    assert not list(hints(RunRequest(data="a.csv"), Survey(Binary([0, 1])), X, X[:, 0], in_order=True)), (
        "auto scales by itself"
    )
    told = done("run", tmp_path / "a.csv", "--drop", "row", "--drop", "c").stderr
    assert "hint" not in told
    assert "hint" not in done("run", "digits").stderr


def test_a_label_that_never_changes_and_a_column_of_names_are_told(tmp_path):
    (tmp_path / "same.csv").write_text("a,y\n" + "".join(f"{i % 7},3.5\n" for i in range(60)))
    assert "hint: the label of the first 60 rows is 3.5" in done("run", tmp_path / "same.csv").stderr
    assert "hint" not in done("run", tmp_path / "same.csv", "--label", "a", "--task", "regression").stderr
    (tmp_path / "names.csv").write_text("id,a,y\n" + "".join(f"u{i},{i % 7},{i % 2}\n" for i in range(60)))
    assert "'id' (60 words, most of them of one row: leave it out)" in done("run", tmp_path / "names.csv").stderr


def test_many_classes_and_classes_that_look_like_numbers_are_told(tmp_path):
    rows = [f"{i % 7},{i % 5}" for i in range(600)]
    (tmp_path / "many.csv").write_text("a,b,y\n" + "".join(f"{row},name{i % 150}\n" for i, row in enumerate(rows)))
    assert "the label has 150 different values" in done("run", tmp_path / "many.csv").stderr
    (tmp_path / "letters.csv").write_text("a,b,y\n" + "".join(f"{row},{i % 26}\n" for i, row in enumerate(rows)))
    answer = done("run", tmp_path / "letters.csv")
    assert "regression, for 26 different whole-number labels" in " ".join(answer.stdout.split())
    assert "--task multiclass" in " ".join(answer.stdout.split())


# Terminals and spreadsheets.

EVIL = "\x1b]0;owned\x07"


def test_no_control_character_reaches_a_terminal(tmp_path):
    (tmp_path / f"{EVIL}.csv").write_text("a,b,y\n" + "".join(f"{i},{i % 3},{EVIL}{i % 2}\n" for i in range(50)))
    (tmp_path / "bad.csv").write_text(f"a,b,y\n1,{EVIL},0\n2,3,1\n")
    done("run", tmp_path / f"{EVIL}.csv", "--save", tmp_path / "m.ks")
    for arguments in (
        ("run", tmp_path / f"{EVIL}.csv", "--algorithm", "rbp"),
        ("run", tmp_path / "bad.csv"),
        ("compare", tmp_path / f"{EVIL}.csv", "--algorithms", "rbp"),
        ("inspect", tmp_path / "m.ks"),
        ("predict", tmp_path / "m.ks", tmp_path / f"{EVIL}.csv"),
    ):
        assert EVIL.encode() not in shown_in_a_terminal(*arguments), arguments


def shown_in_a_terminal(*arguments):
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, env=ENVIRONMENT | {"TERM": "xterm"}
    )
    os.close(slave)
    output = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        output += piece
    process.wait()
    os.close(master)
    assert output
    return output


def test_what_could_steer_a_terminal_is_spelled_out():
    assert words.printable("a\x1b[2Jb\r\u202e\udc80\n\té") == "a\\x1b[2Jb\\r\\u202e\\udc80\n\té"


def test_a_prediction_is_never_a_formula(tmp_path):
    labels = ["=1+1", "@cmd", "-1", "plain"]
    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(f"{i % 4},{i % 3},{labels[i % 4]}\n" for i in range(200)))
    done("run", tmp_path / "a.csv", "--save", tmp_path / "m.ks")
    out = done("predict", tmp_path / "m.ks", tmp_path / "a.csv").stdout.splitlines()
    assert {"'=1+1", "'@cmd", "-1", "plain"} >= set(out[1:])
    assert "'=1+1" in out


def test_an_early_interrupt_is_said_in_one_line(tmp_path):
    os.mkfifo(tmp_path / "a.toml")
    command = [*COMMAND, "run", "digits", "--config", tmp_path / "a.toml"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(tmp_path / "a.toml", "wb"):  # returns when the command waits for it
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=60)[1]
    assert process.returncode == 130, told
    assert told == b"kernelstream: interrupted\n"


# In Python.

X = np.random.default_rng(0).normal(size=(6, 2))
Y = np.array([0, 1, 0, 1, 0, 1.0])
REFUSED = {
    "text targets": (Regression(), X, Y.astype(str), None),
    "text targets as objects": (Regression(), X, Y.astype(str).astype(object), None),
    "times": (Regression(), X, np.arange(6).astype("datetime64[D]"), None),
    "durations": (Regression(), X, np.arange(6).astype("timedelta64[D]"), None),
    "complex labels": (Binary([0, 1]), X, Y + 0j, None),
    "masked features": (Binary([0, 1]), np.ma.array(X, mask=X > 0), Y, None),
    "masked labels": (Binary([0, 1]), X, np.ma.array(Y, mask=Y > 0), None),
    "masked targets": (Regression(), X, np.ma.array(Y, mask=Y > 0), None),
    "text weights": (Binary([0, 1]), X, Y, ["1"] * 6),
    "masked weights": (Binary([0, 1]), X, Y, np.ma.array(np.ones(6), mask=[True] * 6)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_could_be_taken_for_numbers_is_refused(what):
    task, rows, labels, weights = REFUSED[what]
    learner = Learner(RBP(budget=3), task)
    with pytest.raises(ValueError, match=r"masked|must be numbers|Complex"):
        learner.learn(rows, labels, sample_weight=weights)
    assert learner.n_seen == 0


def test_a_masked_row_is_refused_by_itself():
    learner, row = Learner(RBP(budget=3), Binary([0, 1])), np.ma.array(X[0], mask=[True, False])
    learner.learn(X, Y)
    for use in (lambda: learner.learn_one(row, 1), lambda: learner.scores_one(row), lambda: learner.predict(row, id=1)):
        with pytest.raises(ValueError, match="1 of the values are masked"):
            use()
    assert learner.n_seen == len(X) and len(learner.waiting) == 0


@pytest.mark.parametrize("what", [what for what in REFUSED if "masked" in what])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}])
def test_an_estimator_refuses_what_is_masked(what, options):
    task, rows, labels, weights = REFUSED[what]
    classes = isinstance(task, Binary)
    estimator = OnlineKernelClassifier("rbp", **options) if classes else OnlineKernelRegressor("rbp")
    for learn in (estimator.fit, estimator.partial_fit):
        with pytest.raises(ValueError, match="masked"):
            learn(rows, labels, sample_weight=weights)


def test_estimators_and_transformers_refuse_masked_rows():
    masked = np.ma.array(X, mask=X > 0)
    with pytest.raises(ValueError, match="masked"):
        OnlineKernelClassifier("rbp").fit(X, Y).predict(masked)
    with pytest.raises(ValueError, match="masked"):
        FourierFeatures().fit(masked)
    with pytest.raises(ValueError, match="masked"):
        FourierFeatures().fit(X).transform(masked)


@pytest.mark.parametrize(
    "made", [lambda X: X.astype(object), lambda X: X, lambda X: X.astype(bytes), np.ndarray.tolist]
)
def test_text_is_no_feature_though_it_is_digits_whatever_holds_it(made):
    """scikit-learn converts it; here "7" is a word, in tables too, and who means the number says so."""
    digits = X.round(3).astype(str)
    learner = Learner(RBP(budget=3), Binary([0, 1]))
    for take in (
        lambda: learner.learn(made(digits), Y),
        lambda: learner.learn_one(made(digits)[0], 0),
        lambda: OnlineKernelClassifier("rbp").fit(made(digits), Y),
        lambda: FourierFeatures().fit(made(digits)),
        lambda: Rows(made(digits)),
    ):
        with pytest.raises(ValueError, match=r"must be numbers; got text, such as .*X\.astype\(float\)|is no number"):
            take()
    assert learner.n_seen == 0
    learner.learn(np.asarray(made(digits)).astype(float), Y)
    learner.learn(X.astype(object), Y)


def test_an_estimator_refuses_text_targets_and_takes_what_is_not_masked():
    with pytest.raises(ValueError, match="must be numbers"):
        OnlineKernelRegressor("rbp").fit(X, Y.astype(str))
    Learner(RBP(budget=3), Binary([0, 1])).learn(np.ma.array(X), np.ma.array(Y, mask=False))


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e12])
def test_targets_of_any_unit_settle_pros_n_kons(unit):
    learner = Learner("pros-n-kons", Regression())
    learner.learn(X, unit * X[:, 0])
    assert learner.n_seen == len(X) and np.isfinite(learner.scores(X)).all()
