"""A table of numbers, words, dates and holes is learned with nothing said about it, whatever its format."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from kernelstream import Learner
from kernelstream.cli import app
from kernelstream.encoding.columns import Columns
from kernelstream.encoding.values import FILE_DATES
from kernelstream.sources import SourceError, open_source

N = 60
NAMES = ["amount", "country", "when", "day", "label"]
DATED = ["sin", "cos"]


def table():
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2026-01-25 10:30:00") + pd.to_timedelta(rng.integers(0, 10**7, N), unit="s")
    rows = []
    for i in range(N):
        amount, country = round(float(rng.exponential(100)), 2), str(rng.choice(["PT", "DE", "JP"]))
        label = "yes" if amount > 100 or country == "JP" else "no"
        rows.append([amount, country, when[i].isoformat(sep=" "), f"{when[i]:%Y/%m/%d}", label])
    for i, at in ((3, 0), (7, 1), (9, 2), (11, 3)):
        rows[i][at] = None
    return rows


def written(folder, suffix, rows):
    path = folder / f"rows{suffix}"
    if suffix == ".csv":
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(NAMES)
            writer.writerows([["" if value is None else value for value in row] for row in rows])
    elif suffix == ".jsonl":
        lines = [{name: value for name, value in zip(NAMES, row, strict=True) if value is not None} for row in rows]
        path.write_text("".join(f"{json.dumps(line).replace('/', '-')}\n" for line in lines))
    else:
        frame = pd.DataFrame(rows, columns=NAMES)
        frame["when"], frame["day"] = pd.to_datetime(frame["when"]), pd.to_datetime(frame["day"], format="%Y/%m/%d")
        frame.to_parquet(path)
    return path


def read(source):
    blocks = [(X.toarray() if hasattr(X, "toarray") else X, y) for X, y in source]
    width = max(X.shape[1] for X, _ in blocks)
    X = np.concatenate([np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X, _ in blocks])
    return X, np.concatenate([y for _, y in blocks])


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_words_dates_and_holes_are_features(tmp_path, suffix):
    rows = table()
    source = open_source(written(tmp_path, suffix, rows))
    X, y = read(source)
    cycles = [f"{part}.{end}" for part in FILE_DATES[:-1] for end in DATED]
    dates = [f"{name}.{part}" for name in ("when", "day") for part in (*cycles, "trend")]
    words = list(dict.fromkeys(f"country={row[1] or ''}" for row in rows))
    assert source.feature_names == ["amount", *dates, *words] and X.shape == (N, 15 + len(words))
    assert y.tolist() == [row[-1] for row in rows]
    seconds = pd.to_datetime([row[2] for row in rows]).astype("datetime64[ns]")
    trend = (seconds - seconds[0]).total_seconds() / 86_400
    known = np.isfinite(trend)
    np.testing.assert_allclose(X[known, 7], trend[known], atol=1e-9)
    angle = 2 * np.pi * ((seconds - seconds.normalize()).total_seconds() / 86_400)
    np.testing.assert_allclose(X[known, 1], np.sin(angle[known]), atol=1e-6)
    assert X[9, 7] == pytest.approx(np.mean(trend[:9])) and X[3, 0] == pytest.approx(np.mean(X[:3, 0]))
    told = " ".join(source.notices)
    assert "'country' (4 words)" in told and "'when' (dates)" in told and "4 values are missing" in told


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_where_blocks_end_has_no_effect(tmp_path, suffix):
    path = written(tmp_path, suffix, table())
    whole = read(open_source(path))[0]
    for block_rows in (1, 7):
        np.testing.assert_array_equal(read(open_source(path, block_rows=block_rows))[0], whole)


@pytest.mark.parametrize("width", [1, 2, 54])
def test_means_do_not_depend_on_blocks_though_few_values_are_missing(tmp_path, width):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, width)) * 10.0 ** rng.uniform(-5, 5, (500, width))
    X[[301, 499], width - 1] = np.nan
    lines = ["\t".join([*("NA" if np.isnan(v) else repr(float(v)) for v in row), "1"]) for row in X]
    (tmp_path / "a.tsv").write_text("\n".join(["\t".join([*(f"x{j}" for j in range(width)), "y"]), *lines]) + "\n")
    expected = np.cumsum(X[:301], axis=0)[-1, -1] / 301
    for block_rows in (7, 100, 4096):
        found = read(open_source(tmp_path / "a.tsv", block_rows=block_rows))[0]
        assert found[301, -1] == expected
        assert found[499, -1] == (np.cumsum(np.r_[X[:301, -1], X[302:499, -1]])[-1]) / 498


def test_formats_agree(tmp_path):
    rows = table()
    first, *others = (
        read(open_source(written(tmp_path, suffix, rows)))[0] for suffix in (".csv", ".jsonl", ".parquet")
    )
    for other in others:
        np.testing.assert_array_equal(other, first)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})


def test_a_command_learns_it_and_predicts_by_what_it_was(tmp_path):
    rows = table()
    path = written(tmp_path, ".csv", rows)
    done = run("run", path, "--algorithm", "rbp", "--save", tmp_path / "m.ks")
    assert done.exit_code == 0 and "features were made of 'country' (4 words), 'when' (dates)" in done.output
    later = written(tmp_path, ".csv", [[*rows[0][:1], "XX", *rows[0][2:]], *rows[1:]])
    told = run("predict", tmp_path / "m.ks", later, "--out", tmp_path / "p.csv")
    assert told.exit_code == 0 and "1 value is a category that the encoding does not have" in told.output
    assert "features were made" not in told.output, "they are the model's"
    learner, header = Learner.load_with_header(tmp_path / "m.ks")
    columns = Columns.of_file(header)
    first = dict(zip(NAMES[:-1], rows[0], strict=False))
    first |= {name: pd.Timestamp(first[name]) for name in ("when", "day")}
    X = read(open_source(written(tmp_path, ".csv", rows), encoding=header["encoding"]))[0]
    np.testing.assert_allclose(columns.known(first), X[0], atol=1e-12)
    assert learner.width == X.shape[1]


def test_a_model_that_knows_no_words_refuses_them(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n" + "1,2,0\n3,4,1\n" * 20)
    assert run("run", tmp_path / "a.csv", "--algorithm", "rbp", "--save", tmp_path / "m.ks").exit_code == 0
    (tmp_path / "b.csv").write_text("a,b,y\n1,red,0\n3,blue,1\n")
    told = run("predict", tmp_path / "m.ks", tmp_path / "b.csv", "--out", tmp_path / "p.csv")
    assert told.exit_code == 2 and "'red' of 'b' is not a number" in told.output


def test_a_date_that_is_none_is_refused_by_its_line(tmp_path):
    lines = [f"2026-01-{1 + i % 28:02},{i % 2}\n" for i in range(100_000)]
    lines[90_000] = "soon,1\n"
    (tmp_path / "a.csv").write_text("when,y\n" + "".join(lines))
    with pytest.raises(SourceError, match="line 90002, column 1: the value 'soon' of 'when' is not a date"):
        for _ in open_source(tmp_path / "a.csv"):
            pass
    skipping = open_source(tmp_path / "a.csv", on_error="skip")
    assert sum(len(y) for _, y in skipping) == 99_999


def test_dates_are_words_or_nothing_where_that_is_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("when,x,y\n2026-01-25,1,0\n2026-01-26,2,1\n")
    source = open_source(tmp_path / "a.csv", dates=())
    with pytest.raises(SourceError, match="'2026-01-25' of 'when' is not a number but a date"):
        list(source)
    named = open_source(tmp_path / "a.csv", categorical_columns=["when"])
    assert read(named)[0].tolist() == [[1, 1, 0], [2, 0, 1]]
    trend = open_source(tmp_path / "a.csv", dates="trend")
    assert read(trend)[0].tolist() == [[0, 1], [1, 2]] and trend.feature_names == ["when.trend", "x"]
    with pytest.raises(ValueError, match="dates='month' must be some of hour, day, week, year, trend"):
        open_source(tmp_path / "a.csv", dates=["month"])


def test_a_column_of_names_is_advised_against(tmp_path):
    (tmp_path / "a.csv").write_text("name,x,y\n" + "".join(f"n{i},{i % 7},{i % 2}\n" for i in range(300)))
    source = open_source(tmp_path / "a.csv")
    for _ in source:
        pass
    assert "'name' (300 words, most of them of one row: leave it out)" in source.notices[0]


def without_labels(rows, some):
    return [[*row[:-1], None if i in some else row[-1]] for i, row in enumerate(rows)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("task", ["words", "numbers"])
def test_rows_without_a_label_are_left_out_and_counted(tmp_path, suffix, task):
    rows = table() if task == "words" else [[*row[:-1], i % 5 + 0.5] for i, row in enumerate(table())]
    some = {0, 4, 5, N - 1}
    source = open_source(written(tmp_path, suffix, without_labels(rows, some)), block_rows=7)
    X, y = read(source)
    assert source.skipped == len(some)
    assert "4 rows have no 'label' and were left out" in source.notices
    (tmp_path / "labelled").mkdir()
    labelled = written(tmp_path / "labelled", suffix, [row for i, row in enumerate(rows) if i not in some])
    known, labels = read(open_source(labelled))
    assert np.array_equal(X, known) and np.array_equal(y, labels)
    told = CliRunner().invoke(app, ["run", str(source.path), "--algorithm", "fogd"])
    assert told.exit_code == 0 and "4 rows have no 'label' and were left out" in told.stderr
    refused = open_source(source.path, missing="refuse", drop=NAMES[:-2], categorical="refuse")
    with pytest.raises(SourceError, match="label"):
        read(refused)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("task", ["words", "numbers"])
def test_rows_without_a_label_are_predicted(tmp_path, suffix, task):
    rows = table() if task == "words" else [[*row[:-1], i % 5 + 0.5] for i, row in enumerate(table())]
    model, out = tmp_path / "m.ks", tmp_path / "out.csv"
    trained = written(tmp_path, suffix, rows)
    assert CliRunner().invoke(app, ["run", str(trained), "--algorithm", "fogd", "--save", str(model)]).exit_code == 0
    predictions = []
    for some in (set(), {0, 4, 5, N - 1}, set(range(N))):
        path = written(tmp_path, suffix, without_labels(rows, some))
        options = ["--label", "none"] if len(some) == N and suffix == ".jsonl" else []  # it names no label then
        told = CliRunner().invoke(app, ["predict", str(model), str(path), "--out", str(out), *options])
        assert told.exit_code == 0 and f"{N} rows," in told.stderr, told.stderr
        assert ("against their labels" in told.stderr) == (len(some) < N)
        predictions.append(out.read_text())
    assert predictions[0] == predictions[1] == predictions[2] and len(predictions[0].splitlines()) == N + 1


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_column_without_a_label_in_any_row_is_refused_by_name(tmp_path, suffix):
    path = written(tmp_path, suffix, without_labels([[*row[:-1], 1.0] for row in table()], set(range(N))))
    told = CliRunner().invoke(app, ["run", str(path), "--label", "label"])
    assert told.exit_code == 2
    lacks = "there is no column 'label'" if suffix == ".jsonl" else "none of 60 rows has a label, which is 'label'"
    assert lacks in told.stderr and ("name one of" in told.stderr or "--label amount" in told.stderr)
