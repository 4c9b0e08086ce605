"""A slice of `make fuzz` and of `make soak`: no crash, no silent difference, no traceback, only finite numbers."""

import sys

import pytest
from benchmarks import fuzz, soak

# About a minute on one core, in parts that workers share. Model files have a slice of their own laws' tests.
SLICE = {"rows": 150, "files": 600, "commands": 60, "checkpoints": 60}


@pytest.mark.parametrize("part", SLICE)
def test_what_is_mutated_ends_well(part):
    counts, examples = fuzz.run(part, 0, SLICE[part])
    assert not examples
    assert sum(counts.values()) == SLICE[part]
    assert counts["refused"] and counts["taken"]


def test_a_case_that_ends_its_process_is_counted_as_a_crash(monkeypatch):
    code = "import os; from benchmarks import fuzz; fuzz.Files.__call__ = lambda *a: os._exit(3); fuzz.main()"
    monkeypatch.setattr(fuzz, "_command", lambda *given: [sys.executable, "-c", code, *given])
    counts, examples = fuzz.run("files", 0, 2)
    assert counts == {"crash": 2}
    assert [number for number, _, _ in examples] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "reads"),
    [
        ("convert b.libsvm a.csv", False),
        ("convert a.csv a.csv", True),
        ("convert *.csv a.csv", True),
        ("convert b.libsvm o1 --test a.csv", True),
        ("run a.csv --save o3.ks", True),
        ("run b.libsvm --save a.csv", False),
    ],
)
def test_a_file_that_a_command_reads_is_told_from_one_that_it_writes(tmp_path, monkeypatch, arguments, reads):
    monkeypatch.chdir(tmp_path)
    assert fuzz.Commands(tmp_path).reads(arguments.split(), "a.csv") == reads


def test_a_million_rows_soak(capsys):
    assert soak.soaked("rbp", 1_000_000) == []
    assert "1,000,000 rows" in capsys.readouterr().out
