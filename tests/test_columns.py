"""Laws of named values: rows and tables of them are the same features, in any order and however a stream is cut."""

import datetime as dt
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelstream.encoding import Columns
from kernelstream.sources import open_source

ROWS = [
    {"a": 1.0, "colour": "red", "b": 2},
    {"a": 3.0, "colour": "blue", "b": True},
    {"a": -1.5, "colour": "red", "b": 0, "size": "S"},
    {"b": 4.0, "late": 7.0},
    {"a": None, "colour": None, "b": math.nan, "size": pd.NA},
]


def test_a_number_is_the_feature_of_its_name_and_a_word_one_of_its_own():
    columns = Columns(missing="zero")
    X = columns.take(ROWS)
    assert columns.feature_names == ["a", "b", "colour=red", "colour=blue", "size=S", "late"]
    assert X.tolist() == [
        [1.0, 2.0, 1.0, 0.0, 0.0, 0.0],
        [3.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        [-1.5, 0.0, 1.0, 0.0, 1.0, 0.0],
        [0.0, 4.0, 0.0, 0.0, 0.0, 7.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ]


VALUES = st.one_of(
    st.none(),
    st.floats(-1e9, 1e9),
    st.integers(-5, 5),
    st.booleans(),
    st.sampled_from(["", "x", "y"]),
    st.just(math.nan),
)
STREAMS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c", 1, ("k", 2)]), VALUES), min_size=1, max_size=8)


@given(STREAMS, st.sampled_from(["onehot", "hash"]), st.sampled_from(["mean", "zero"]), st.randoms())
def test_neither_the_cut_of_a_stream_nor_the_order_of_a_row_has_an_effect(rows, categorical, missing, chance):
    whole, single, shuffled = (Columns(categorical=categorical, hash_features=4, missing=missing) for _ in range(3))
    X = whole.take(rows)
    for t, row in enumerate(rows):
        names = list(row)
        chance.shuffle(names)
        one, other = single.take([row])[0], shuffled.take([{name: row[name] for name in names}])[0]
        assert np.array_equal(one, other)
        assert np.array_equal(one, X[t, : len(one)]) and not X[t, len(one) :].any()
    assert single.entries == whole.entries == shuffled.entries
    assert np.array_equal(whole.show(rows), single.show(rows))
    assert np.array_equal(pickle.loads(pickle.dumps(whole)).show(rows), whole.show(rows))


TABLE = {
    "n": [1.5, None, -2.0, 0.25],
    "word": ["x", "y", None, "x"],
    "flag": [True, False, True, True],
    "when": [dt.datetime(2024, 5, 1, 6), dt.datetime(2024, 5, 2, 12), None, dt.datetime(2025, 1, 1)],
    "whole": [3, 1, 4, 1],
}


@pytest.mark.parametrize("missing", ["mean", "zero"])
@pytest.mark.parametrize("categorical", ["onehot", "hash"])
def test_tables_are_their_rows(categorical, missing):
    rows = [dict(zip(TABLE, values, strict=True)) for values in zip(*TABLE.values(), strict=True)]
    options = {"categorical": categorical, "hash_features": 8, "missing": missing, "dates": ("day", "trend")}
    by_row = Columns(**options)
    expected = by_row.take(rows)
    tables = [pd.DataFrame(TABLE), pl.DataFrame(TABLE), pa.table(TABLE), pa.table(TABLE).to_batches()[0]]
    tables.append(pd.DataFrame(TABLE).astype({"word": "category", "n": "Float64", "whole": "Int8"}))
    for table in tables:
        columns = Columns(**options)
        assert np.array_equal(columns.take(table), expected)
        assert columns.entries == by_row.entries
        assert np.array_equal(columns.show(table), by_row.show(rows))
        assert np.array_equal(columns.show(table), columns.show(rows))


def test_a_table_of_numbers_may_have_any_names():
    table = pd.DataFrame([[1, 2.0], [3, 4.0]], columns=[7, "b"])
    columns = Columns()
    assert columns.take(table).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert columns.known({"b": 9, 7: 8}).tolist() == [8.0, 9.0]


@pytest.mark.parametrize("missing", ["zero", "refuse"])
def test_a_table_is_read_by_its_names_whatever_table_came_before_it(missing):
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    columns = Columns(missing=missing)
    columns.take(table)
    for part in (table, table[1:], table.iloc[[2, 0]], table.copy(), table[["b", "a"]], table[["b", "a"]][:1]):
        expected = part[["a", "b"]].to_numpy()
        assert np.array_equal(columns.take(part), expected) and np.array_equal(columns.show(part), expected)
        same_order = list(part.columns) == ["a", "b"]
        assert same_order == (columns.complete_table(part) is not None)
    swapped = table.rename(columns={"a": "b", "b": "a"})
    assert np.array_equal(columns.take(swapped), table[["b", "a"]].to_numpy())
    words = table.assign(b=["x", "y", "x"])  # the names of before, and words
    assert columns.complete_table(words) is None
    late = table.assign(c=7.0)
    assert columns.take(late)[:, 2].tolist() == [7.0, 7.0, 7.0]
    assert columns.complete_table(table) is None and columns.complete_table(late) is not None


def test_a_table_that_lacks_something_or_has_too_much_is_not_complete():
    table = pd.DataFrame({"a": [1.0, math.nan], "b": [4.0, 5.0]})
    columns = Columns(missing="zero")
    columns.take(table)
    assert columns.complete_table(table) is None and columns.complete_table(table[:1]) is not None
    assert columns.take(table).tolist() == columns.show(table).tolist() == [[1.0, 4.0], [0.0, 5.0]]
    for far in (table[:1] * 1e16, table[:1] * -1e16):
        assert columns.complete_table(far) is None
        for read in (columns.take, columns.show):
            with pytest.raises(ValueError, match=r"Row 0: the value -?1e\+16 of 'a' exceeds 1e\+15"):
                read(far)
    means = Columns(missing="mean")
    means.take(table)
    assert means.complete_table(table[:1]) is None  # each row moves a mean


def test_before_the_first_word_of_a_name_none_is_missing_in_rows_and_tables():
    rows = [{"a": 1.0, "w": None}, {"a": 1.0, "w": "x"}, {"a": 1.0, "w": None}]
    by_row, by_table = Columns(missing="mean"), Columns(missing="mean")
    assert np.array_equal(by_row.take(rows), by_table.take(pa.Table.from_pylist(rows)))
    assert by_row.entries == by_table.entries and by_row.feature_names == ["a", "w=x", "w="]


def test_what_is_missing_is_the_mean_of_what_came_before():
    columns = Columns(missing="mean")
    X = columns.take([{"a": 1.0, "w": "x"}, {"a": 3.0}, {"w": "x"}, {"a": None, "w": None}, {"a": 11.0, "w": "x"}])
    assert columns.feature_names == ["a", "w=x", "w="]
    assert X[:, 0].tolist() == [1.0, 3.0, 2.0, 2.0, 11.0]
    assert X[:, 1:].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]]
    assert columns.known({}).tolist() == [5.0, 0.0, 1.0]


def test_a_prediction_takes_nothing_in():
    columns = Columns(missing="mean")
    columns.take([{"a": 1.0, "w": "x"}])
    before = columns.to_json()
    assert columns.known({"a": 5.0, "w": "new", "b": 1.0}).tolist() == [5.0, 0.0]
    assert columns.show(pd.DataFrame({"a": [5.0, None], "w": ["new", "x"], "b": [1.0, 2.0]})).tolist() == [
        [5, 0],
        [1, 1],
    ]
    assert columns.to_json() == before


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"a": None, "w": "x"}, "value of 'a' is missing"),
        ({"w": "x"}, "value of 'a' is missing"),
        ({"a": 1.0}, "value of 'w' is missing"),
        ({"a": math.nan, "w": "x"}, "value of 'a' is missing"),
        ({"a": math.inf, "w": "x"}, "'a' exceeds 1e"),
        ({"a": 1.0, "w": "x", "when": dt.date(2024, 1, 1)}, "'when' is a date"),
        ({"a": 1.0, "w": "x", "l": [1, 2]}, "of 'l' is neither a number"),
        ({"a": 1.0, "w": "x", "c": 1j}, "of 'c' is neither a number"),
    ],
)
def test_what_cannot_be_a_feature_is_refused_by_its_name(row, words):
    columns = Columns()
    columns.take([{"a": 1.0, "w": "x"}])
    for face in (columns.known, lambda x: columns.take([x])):
        with pytest.raises(ValueError, match=words):
            face(row)


def test_tables_refuse_by_name_and_row():
    columns = Columns()
    with pytest.raises(ValueError, match="Row 1: the value of 'a' is missing"):
        columns.take(pd.DataFrame({"a": [1.0, None]}))
    with pytest.raises(ValueError, match="Row 1: the value of 'w' is missing"):
        columns.take(pl.DataFrame({"w": ["x", None]}))
    with pytest.raises(ValueError, match="'m' holds values of several kinds"):
        columns.take(pd.DataFrame({"m": ["x", 1.0]}))
    with pytest.raises(ValueError, match="'l' holds list"):
        columns.take(pa.table({"l": [[1.0], [2.0]]}))
    with pytest.raises(ValueError, match="Two columns are named 'a'"):
        columns.take(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match=r"Row 1: the value inf of 'b' exceeds 1e\+15"):
        columns.take(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.inf]}))
    with pytest.raises(ValueError, match="is empty"):
        columns.take(pd.DataFrame({"a": []}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"categorical": "ordinal"}, "categorical='ordinal' must be one of onehot, hash"),
        ({"missing": "median"}, "missing='median' must be one of"),
        ({"dates": ["decade"]}, "dates='decade' must be some of hour"),
        ({"hash_features": 100}, "power of two"),
    ],
)
def test_an_option_that_does_not_exist_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Columns(**options)


def test_dates_are_where_they_stand_in_a_cycle_and_days_since_the_first():
    columns = Columns(dates=("day", "trend"), missing="zero")
    noon, zone = dt.datetime(2024, 3, 10, 12), dt.timezone(dt.timedelta(hours=2))
    moments = [dt.datetime(2024, 3, 10), noon, noon.replace(tzinfo=zone), dt.date(2024, 3, 12), np.datetime64(noon)]
    X = columns.take([{"when": moment} for moment in [*moments, pd.Timestamp(noon), pd.NaT]])
    angle = 2 * math.pi * 10 / 24
    expected = [[0, 1, 0], [0, -1, 0.5], [math.sin(angle), math.cos(angle), 10 / 24], [0, 1, 2], [0, -1, 0.5]]
    assert np.allclose(X[:5], expected, atol=1e-9)
    assert X[5].tolist() == X[1].tolist() and not X[6].any()
    assert columns.feature_names == ["when.day.sin", "when.day.cos", "when.trend"]


TEXTS = ["2024-03-10", "2024-03-10 12:00", "2024/03/10T12:00:00+02:00", "2024-03-12T00:00:00.25Z", ""]


@given(st.lists(st.sampled_from([*TEXTS, "red", None]), min_size=1, max_size=6), st.sampled_from(["onehot", "hash"]))
def test_a_column_whose_text_is_dates_holds_dates(texts, categorical):
    options = {"categorical": categorical, "hash_features": 4, "missing": "mean", "dates": ("day", "trend")}
    rows = [{"n": 1.0, "when": text} for text in texts]
    said = [text for text in texts if text]
    by_row, by_table, one_by_one = (Columns(**options) for _ in range(3))
    dated = bool(said) and said[0] != "red"
    if dated and "red" in said:
        row = texts.index("red")
        for frame in (pd.DataFrame(rows, dtype=object), pa.Table.from_pylist(rows)):
            with pytest.raises(ValueError, match=rf"Row {row}: the value 'red' of 'when' is not a date"):
                by_table.take(frame)
        with pytest.raises(ValueError, match="'red' of 'when' is not a date, unlike those before; write it as"):
            by_row.take(rows)
        return
    X = by_row.take(rows)
    assert np.array_equal(by_table.take(pa.Table.from_pylist(rows)), X) and by_table.entries == by_row.entries
    for row, x in zip(rows, X, strict=True):
        one = one_by_one.take([row])[0]
        assert np.array_equal(one, x[: len(one)])
    assert ("when.trend" in by_row.feature_names) == dated
    assert bool(by_row.width > 1) == bool(said)


def test_a_date_is_the_same_features_however_it_is_written():
    moment = dt.datetime(2024, 3, 10, 12, 30, 15, 250_000)
    seconds = moment.replace(tzinfo=dt.UTC).timestamp()
    columns = Columns(dates=("hour", "day", "trend"))
    columns.take([{"when": "2024-03-09", "w": "2024-03-09x"}])
    ways = [moment, np.datetime64(moment), pd.Timestamp(moment), str(moment), f" {moment.isoformat()}Z ", seconds]
    ways += [moment.replace(tzinfo=dt.timezone(dt.timedelta(hours=2))) + dt.timedelta(hours=2)]
    ways += ["2024/03/10 14:30:15.250000+02:00", np.float64(seconds)]
    expected = columns.known({"when": moment, "w": ""})
    for way in ways:
        assert np.array_equal(columns.known({"when": way, "w": ""}), expected), way
        assert np.array_equal(columns.show(pd.DataFrame({"when": [way], "w": [""]}))[0], expected), way
        assert np.array_equal(columns.take([{"when": way, "w": "2024-03-09x"}])[0, :-1], expected[:-1]), way
    for face in (columns.known, lambda x: columns.take([x]), lambda x: columns.show(pd.DataFrame([x]))):
        with pytest.raises(ValueError, match="value 'soon' of 'when' is not a date, unlike those before; write it as"):
            face({"when": "soon", "w": ""})
    assert Columns().take([{"when": "2024-03-09"}]).tolist() == [[1.0]]  # a word, where no dates are asked for


def test_words_fall_on_the_places_of_a_file_reader(tmp_path):
    (tmp_path / "w.csv").write_text("n,w,y\n1,red,0\n2,blue,1\n3,red,0\n")
    for options in ({"categorical": "hash", "hash_features": 16}, {"categorical": "onehot"}):
        (read, _), *_ = open_source(tmp_path / "w.csv", label="y", **options)
        columns = Columns(**options)
        rows = [{"n": 1, "w": "red"}, {"n": 2, "w": "blue"}, {"n": 3, "w": "red"}]
        assert np.array_equal(columns.take(rows), read.toarray())


def test_what_is_written_is_read_again_and_nothing_else():
    columns = Columns(missing="mean", dates="week")
    columns.take([*ROWS, {"when": dt.date(2024, 1, 1)}])
    written = columns.to_json()
    again = Columns.from_json(written)
    assert again.to_json() == written and np.array_equal(again.show(ROWS), columns.show(ROWS))
    entry = written["entries"][0]
    for spoiled in (
        {"entries": [*written["entries"], entry]},
        {"entries": [["number", None, None]]},
        {"entries": [["word", "a", 3]]},
        {"entries": [["colour", "a", None]]},
        {"sums": [math.inf] * len(written["sums"])},
        {"counts": written["counts"][1:]},
        {"missing": "median"},
    ):
        with pytest.raises(ValueError):
            Columns.from_json(written | spoiled)
    with pytest.raises(ValueError, match="cannot be written"):
        columns.take([{("a", 1): 2.0, **ROWS[0]}])
        columns.to_json()
