"""``kernelstream datasets add``: a file that somebody has becomes a data set if it is one."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from kernelstream.cli import app
from kernelstream.sources import ArraySource, datasets, open_source
from kernelstream.sources.adding import Seen, add
from kernelstream.sources.datasets import DATASETS, Dataset, Split, at_hand
from kernelstream.sources.writers import convert


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """An empty mirror and an empty cache."""
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    monkeypatch.setenv("KERNELSTREAM_DATA", str(mirror))
    monkeypatch.setenv("KERNELSTREAM_CACHE", str(tmp_path / "cache"))
    return mirror, tmp_path / "cache" / "kernelstream" / "data"


def asked(*words):
    return CliRunner().invoke(app, ["datasets", "add", *map(str, words)])


def refused(words, *expected):
    answer = asked(*words)
    assert answer.exit_code == 2 and len(answer.stderr.strip().splitlines()) == 1, answer.output
    for one in expected:
        assert one in answer.stderr


def telescope(path, n=19_020, header=False, words=("g", "h")):
    """A table as the origin of magic04 has it: ten numbers and a letter a row, sorted by class."""
    numbers = np.random.default_rng(0).normal(size=(n, 10)).round(4)
    lines = ["fLength,a,b,c,d,e,f,g,h,i,class"] if header else []
    lines += [
        ",".join(map(str, row)) + f",{words[0] if place < 12_332 else words[1]}" for place, row in enumerate(numbers)
    ]
    path.write_text("\n".join(lines) + "\n")
    return numbers


@pytest.mark.parametrize("name", ["magic04.data", "magic04.csv", "magic04.txt"])
def test_a_table_from_its_origin_is_converted_and_found_by_name(name, tmp_path, places):
    file = tmp_path / name
    numbers = telescope(file, header=name.endswith(".csv"))
    answer = asked(file, "--as", "magic04")
    assert answer.exit_code == 0, answer.output
    target = places[0] / "magic04" / "magic04.all.libsvm.xz"
    said = " ".join(answer.stderr.split())
    assert f"wrote 19,020 rows to {target} as magic04/all" in said.replace("\n", "")
    assert "shape and labels are right; no checksum of its rows is known" in said
    X, y = (np.concatenate(parts) for parts in zip(*((X.toarray(), y) for X, y in open_source("magic04")), strict=True))
    assert np.array_equal(X, numbers)
    assert np.array_equal(y, np.where(np.arange(19_020) < 12_332, 1.0, -1.0))
    assert [row["where"] for row in at_hand() if row["name"] == "magic04"] == ["mirror"]


def test_it_goes_into_the_cache_where_the_mirror_cannot_be_written(tmp_path, places, monkeypatch):
    telescope(tmp_path / "magic04.data")
    monkeypatch.setenv("KERNELSTREAM_DATA", str(tmp_path / "nowhere"))
    assert asked(tmp_path / "magic04.data", "--as", "magic04").exit_code == 0
    assert (places[1] / "magic04" / "magic04.all.libsvm.xz").is_file() and not (tmp_path / "nowhere").exists()


def test_what_is_not_the_data_set_is_refused_and_nothing_is_written(tmp_path, places):
    file = tmp_path / "magic04.data"
    telescope(file, n=100)
    refused([file, "--as", "magic04"], "no split with 100 rows", "magic04/all with 19,020")
    refused([file, "--as", "magic04/all"], "has 100 rows, and magic04/all has 19,020", "archive.ics.uci.edu")
    refused([file, "--as", "magic05"], "no data set 'magic05'; there are a9a, ")
    refused([file, "--as", "magic04/half"], "magic04 has no file 'half'")
    telescope(file, words=("g", "x"))
    refused([file, "--as", "magic04"], "the label 'x'", "g=1, h=-1", "--labels")
    telescope(file, words=("1", "0"))
    refused([file, "--as", "magic04"], "the label '0'")
    telescope(file)
    refused([file, "--as", "magic04", "--drop", "3"], "has 9 features, and magic04/all has 10", "--drop")
    refused([file, "--as", "magic04", "--labels", "g"], "--labels", "LABEL=NUMBER")
    refused([tmp_path / "none.csv", "--as", "magic04"], "none.csv")
    assert not list(places[0].iterdir()) and not places[1].exists()


def test_labels_in_another_code_are_given_with_their_numbers(tmp_path):
    telescope(tmp_path / "m.csv", words=("gamma", "hadron"))
    answer = asked(tmp_path / "m.csv", "--as", "magic04", "--labels", "gamma=1,hadron=-1")
    assert answer.exit_code == 0, answer.output
    assert {label for _, y in open_source("magic04") for label in y} == {-1.0, 1.0}


def test_the_split_is_the_one_with_as_many_rows(places, monkeypatch):
    splits = {name: Split(f"tiny.{name}.libsvm", rows=rows) for name, rows in (("train", 30), ("test", 20), ("b", 20))}
    monkeypatch.setitem(DATASETS, "tiny", Dataset("regression", "nowhere", "", 2, splits=splits, target=(0.0, 1.0)))
    X, y = np.ones((30, 2)), np.linspace(0, 1, 30)
    assert add(ArraySource(X, y, name="x"), "tiny").name == "tiny/train"
    with pytest.raises(ValueError, match="several splits with 20 rows"):
        add(ArraySource(X[:20], y[:20], name="x"), "tiny")
    assert add(ArraySource(X[:20], y[:20], name="x"), "tiny/b").path == places[0] / "tiny" / "tiny.b.libsvm"
    with pytest.raises(ValueError, match=r"targets from 0 to 2, and those of tiny/train lie within 0 and 1"):
        add(ArraySource(X, 2 * y, name="x"), "tiny")


def test_a_digest_is_that_of_the_rows_however_they_are_stored_and_cut():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.5), rng.normal(size=50)
    digests = set()
    for size in (50, 7):
        for sparse in (False, True):
            seen = Seen()
            for at in range(0, 50, size):
                block = X[at : at + size]
                seen.take(datasets_csr(block) if sparse else block, y[at : at + size])
            digests.add(seen.digest)
            assert (seen.n, seen.width) == (50, 6)
    assert len(digests) == 1
    other = Seen()
    other.take(X[::-1], y[::-1])
    assert other.digest not in digests


def datasets_csr(block):
    """Sparse rows with zeros that are written out."""
    from scipy.sparse import csr_array

    columns = np.indices(block.shape)[1]
    return csr_array((block.ravel(), columns.ravel(), np.arange(0, block.size + 1, block.shape[1])), block.shape)


# On the real files


def test_rows_that_are_known_are_recognised_in_any_format(data_directory, tmp_path, places, monkeypatch):
    monkeypatch.setenv("KERNELSTREAM_DATA", str(data_directory))
    raw, scaled = tmp_path / "german.csv", tmp_path / "scaled.parquet"
    convert(open_source("german/raw"), raw)
    convert(open_source("german/scaled"), scaled)
    monkeypatch.setenv("KERNELSTREAM_DATA", str(places[0]))
    answer = asked(raw, "--as", "german/raw")
    assert answer.exit_code == 0, answer.output
    assert "its rows are those that the tables here were made with" in " ".join(answer.stderr.split())
    assert re.search(r"[0-9a-f]{64}", answer.stderr)[0] == DATASETS["german"].splits["raw"].rows_sha256
    refused([scaled, "--as", "german/raw"], "shape and the labels of german/raw, but not its rows", "scaled")
    # scaled and fogd have as many rows: a name alone would not say which.
    refused([raw, "--as", "german"], "several splits with 1,000 rows")


@pytest.mark.parametrize("name", ["german", "housing", "dna", "mg", "satimage", "spambase"])
def test_the_registry_has_the_digests_of_the_rows(data_directory, monkeypatch, name):
    monkeypatch.setenv("KERNELSTREAM_DATA", str(data_directory))
    for split, file in DATASETS[name].splits.items():
        seen = Seen()
        for X, y in open_source(f"{name}/{split}"):
            seen.take(X, y)
        assert (seen.digest, seen.n) == (file.rows_sha256, file.rows)


def test_the_list_goes_on_being_a_list():
    answer = CliRunner().invoke(app, ["datasets", "--json"])
    listed = {(row["name"], row["split"]) for row in json.loads(answer.stdout)}
    assert {("ijcnn1", "train"), ("ijcnn1", "test"), ("year", "all"), ("airlines", "all")} <= listed
    assert datasets.DATASETS["ijcnn1"].splits["train"].sha256 is None
