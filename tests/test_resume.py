"""Laws of resuming: it goes on where that is right, and is refused by name where it is not."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

from kernelstream import Learner
from kernelstream.cli import app
from kernelstream.evaluate.digest import Digest

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "COLUMNS": "100"}
OPTIONS = ("--algorithm", "rbp", "--set", "budget=20")


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "100"})


def run(data, *arguments):
    return call("run", data, *OPTIONS, "--checkpoint", data.parent / "part.ks", "--every", "40", *arguments)


def rows(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3)).round(4)
    return [f"{a},{b},{c},{'yes' if a * b > 0 else 'no'}\n" for a, b, c in X]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,label\n" + "".join(rows(200)))
    return path


def changed(data, change):
    head, *lines = data.read_text().splitlines(keepends=True)
    data.write_text(head + "".join(change(lines)))


def refused(answer, *words):
    assert answer.exit_code == 2, answer.output
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("kernelstream: ")
    for word in words:
        assert word in last


CHANGES = {
    "a value edited": lambda lines: [*lines[:70], "9,9,9,yes\n", *lines[71:]],
    "labels edited": lambda lines: [line.replace("yes", "no") for line in lines[:9]] + lines[9:],
    "a row replaced by a later one": lambda lines: lines[:50] + lines[51:] + rows(1, seed=1),
    "two rows swapped": lambda lines: [lines[1], lines[0], *lines[2:]],
    "rows put above": lambda lines: rows(30, seed=1) + lines,
    "fewer rows": lambda lines: lines[:120],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("block", [7, 4096])
def test_rows_that_are_not_those_that_were_learned_are_refused(data, change, block):
    assert run(data, "--block-rows", "64").exit_code == 0
    before = (data.parent / "part.ks").read_bytes()
    changed(data, CHANGES[change])
    refused(run(data, "--resume", "--block-rows", block), "rows of rows" if "fewer" not in change else "120 rows")
    assert (data.parent / "part.ks").read_bytes() == before


def test_rows_added_below_are_learned_once(data):
    assert run(data).exit_code == 0
    changed(data, lambda lines: lines + rows(100, seed=1))
    assert run(data, "--resume", "--save", data.parent / "a.ks").exit_code == 0
    assert call("run", data, *OPTIONS, "--save", data.parent / "b.ks").exit_code == 0
    first, second = (Learner.load(data.parent / name) for name in ("a.ks", "b.ks"))
    assert first.n_seen == second.n_seen == 300
    X = np.random.default_rng(2).normal(size=(50, 3))
    assert np.array_equal(first.scores(X), second.scores(X))


def test_a_shuffle_of_more_rows_is_refused(data):
    assert run(data, "--shuffle").exit_code == 0
    assert run(data, "--shuffle", "--resume").exit_code == 0
    changed(data, lambda lines: lines + rows(100, seed=1))
    refused(run(data, "--shuffle", "--resume"), "shuffle", "begin anew")


def test_a_checkpoint_is_not_replaced_without_resume(data):
    assert run(data).exit_code == 0
    refused(run(data), "part.ks", "--resume")


def test_a_checkpoint_in_use_is_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(200_000, 3))
    np.savez(tmp_path / "long.npz", X=X, y=np.sign(X[:, 0]))
    part = tmp_path / "part.ks"
    arguments = ["run", tmp_path / "long.npz", *OPTIONS, "--checkpoint", part, "--resume"]
    command = [sys.executable, "-m", "kernelstream", *arguments, "--every", "50", "--block-rows", "2"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        while not part.exists():
            time.sleep(0.01)
            assert running.poll() is None
        refused(call(*arguments), "part.ks is in use by another run")
        running.send_signal(signal.SIGKILL)
    assert call(*arguments, "--json", tmp_path / "r.json").exit_code == 0
    assert json.loads((tmp_path / "r.json").read_text())["rows"] == 200_000


def test_a_digest_does_not_depend_on_blocks_and_on_nothing_else():
    rng = np.random.default_rng(0)
    X, words = rng.normal(size=(30, 4)), np.array([f"{'long' * (i % 3)}{i}" for i in range(30)])
    sparse = csr_array(X * (rng.random(X.shape) < 0.3))
    seen = set()
    for rows_given, labels in ((X, words), (X, np.arange(30.0)), (sparse, words), (X + 1e-12, words)):
        values = set()
        for size in (1, 7, 30):
            digest = Digest()
            for start in range(0, 30, size):
                digest.add(rows_given[start : start + size], labels[start : start + size].astype(labels.dtype.kind))
            values.add(digest.value())
        assert len(values) == 1
        seen |= values
    assert len(seen) == 4
