"""Laws of everything that is written: it appears whole or not at all, and no command destroys what it reads."""

import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from kernelstream import RBP, Binary, Learner
from kernelstream.cli import app
from kernelstream.cli import options as o
from kernelstream.cli.data import ConvertRequest
from kernelstream.cli.predict import PredictRequest
from kernelstream.cli.request import CompareRequest, RunRequest
from kernelstream.cli.tuning import TuneRequest
from kernelstream.engine import disk
from kernelstream.sources import ArraySource
from kernelstream.sources.writers import convert

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "COLUMNS": "100"}
COMMAND = [sys.executable, "-m", "kernelstream"]
REQUESTS = (RunRequest, CompareRequest, TuneRequest, PredictRequest, ConvertRequest)


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "100"})


def refused(answer, *words):
    assert answer.exit_code == 2, answer.output
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("kernelstream: ")
    for word in words:
        assert word in last


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.fixture
def own(tmp_path):
    """Somebody's only copy of a table, and a model for it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(3)
    y = np.where(X[:, 0] > 0, "yes", "no")
    lines = [f"{a},{b},{label}\n" for (a, b), label in zip(X, y, strict=True)]
    (tmp_path / "own.csv").write_text("a,b,kind\n" + "".join(lines))
    learner = Learner(RBP(budget=10), Binary(["no", "yes"]))
    learner.learn(X, y)
    learner.save(tmp_path / "m.ks")
    return tmp_path


# A command never destroys what it reads.


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "m.ks", "own.csv", "--out", "own.csv"),
        ("predict", "m.ks", "own.csv", "--out", "m.ks"),
        ("predict", "m.ks", "own.csv", "--out", "link.csv"),
        ("predict", "m.ks", "own.csv", "--out", "hard.csv"),
        ("predict", "m.ks", "*.csv", "--out", "new.csv"),
        ("predict", "m.ks", ".", "--out", "new.csv"),
        ("run", "own.csv", "--save", "own.csv"),
        ("run", "own.csv", "--json", "./own.csv"),
        ("run", "own.csv", "--csv", "own.csv"),
        ("run", "own.csv", "--markdown", "own.csv"),
        ("run", "own.csv", "--report", "own.csv"),
        ("run", "own.csv", "--checkpoint", "own.csv"),
        ("run", "digits", "--test", "own.csv", "--save", "own.csv"),
        ("run", "digits", "--config", "tuned.toml", "--save", "tuned.toml"),
        ("run", "digits", "--orders", "orders.npz", "--json", "orders.npz"),
        ("compare", "own.csv", "--json", "own.csv"),
        ("tune", "own.csv", "--out", "own.csv"),
        ("convert", "own.csv", "own.csv"),
    ],
)
def test_no_command_writes_over_what_it_reads(own, monkeypatch, arguments):
    monkeypatch.chdir(own)
    (own / "link.csv").symlink_to("own.csv")
    os.link("own.csv", "hard.csv")
    (own / "tuned.toml").write_text('algorithm = "rbp"\n')
    np.savez(own / "orders.npz", perm=np.arange(5))
    before = {path.name: path.read_bytes() for path in own.iterdir()}
    refused(call(*arguments), "would be lost", arguments[-1])
    assert {path.name: path.read_bytes() for path in own.iterdir()} == before


def test_standard_input_from_a_file_is_not_written_over(own):
    with open(own / "own.csv", "rb") as given:
        command = [*COMMAND, "predict", own / "m.ks", "-", "--format", "csv", "--out", own / "own.csv"]
        done = subprocess.run(command, stdin=given, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 2 and "would be lost" in done.stderr
    assert (own / "own.csv").read_text().startswith("a,b,kind\n")


@pytest.mark.parametrize(
    "outputs",
    [
        ("--save", "F", "--json", "F"),
        ("--checkpoint", "F", "--save", "./F"),
        ("--csv", "F", "--report", "F"),
        ("--json", "-", "--csv", "-"),
        ("--json", "/dev/stdout", "--csv", "-"),
    ],
)
def test_two_outputs_are_never_one_file(own, monkeypatch, outputs):
    monkeypatch.chdir(own)
    refused(call("run", "own.csv", "--algorithm", "rbp", *outputs), outputs[0], outputs[2], "both name")
    assert not (own / "F").exists()


def test_every_option_that_names_a_file_says_whether_it_is_read_or_written():
    for request in REQUESTS:
        for name, hint in get_type_hints(request, include_extras=True).items():
            kind, *rest = get_args(hint) if get_origin(hint) is not None else (None,)
            info = next((one for one in rest if isinstance(one, typer.models.ParameterInfo)), None)
            names_file = info is not None and (info.metavar in ("FILE", "DATA") or "Path" in str(kind))
            assert not names_file or o.READ in rest or o.WRITTEN in rest, (request, name)


# What is written appears whole or not at all.


def test_a_prediction_that_fails_leaves_the_old_output(own):
    out = own / "old.csv"
    out.write_text("yesterday's\n")
    (own / "bad.csv").write_text((own / "own.csv").read_text() + "1,oops,yes\n")
    refused(call("predict", own / "m.ks", own / "bad.csv", "--out", out, "--block-rows", "8"), "line 62")
    assert out.read_text() == "yesterday's\n"
    assert not hidden(own)


def test_modes_links_and_the_umask_are_kept(own):
    (own / "real.csv").write_text("old")
    (own / "real.csv").chmod(0o640)
    (own / "link.csv").symlink_to("real.csv")
    assert call("predict", own / "m.ks", own / "own.csv", "--out", own / "link.csv").exit_code == 0
    assert (own / "link.csv").is_symlink()
    assert (own / "real.csv").read_text().startswith("prediction\n")
    assert stat.S_IMODE((own / "real.csv").stat().st_mode) == 0o640
    old = os.umask(0o027)
    try:
        Learner.load(own / "m.ks").save(own / "n.ks")
    finally:
        os.umask(old)
    assert stat.S_IMODE((own / "n.ks").stat().st_mode) == 0o640


def test_what_is_no_file_is_never_replaced(own):
    fifo = own / "pipe"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, text=True)
    assert call("predict", own / "m.ks", own / "own.csv", "--out", fifo).exit_code == 0
    assert reader.communicate(timeout=30)[0].count("\n") == 61
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    refused(call("predict", own / "m.ks", own / "own.csv", "--out", own), "is a directory")
    if os.geteuid() == 0:
        for kind, major, minor in ((stat.S_IFCHR, 1, 3), (stat.S_IFBLK, 7, 0)):
            os.mknod(own / "device", kind | 0o666, os.makedev(major, minor))
            answer = call("run", own / "own.csv", "--algorithm", "rbp", "--save", own / "device")
            assert stat.S_IFMT((own / "device").stat().st_mode) == kind
            assert answer.exit_code == (2 if kind == stat.S_IFBLK else 0), answer.output
            (own / "device").unlink()


def test_the_own_standard_output_can_be_named(own):
    command = [*COMMAND, "predict", own / "m.ks", own / "own.csv", "--out", "/dev/stdout"]
    with open(own / "all.txt", "ab") as out:
        out.write(b"above\n")
        out.flush()
        assert subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, env=ENVIRONMENT).returncode == 0
    assert (own / "all.txt").read_text().startswith("above\nprediction\n")


FULL = {
    "json": ("run", "own.csv", "--algorithm", "rbp", "--json", "OUT"),
    "html": ("run", "own.csv", "--algorithm", "rbp", "--report", "OUT"),
    "model": ("run", "own.csv", "--algorithm", "rbp", "--save", "OUT"),
    "predictions": ("predict", "m.ks", "own.csv", "--scores", "--out", "OUT"),
}


@pytest.mark.parametrize("name", FULL)
def test_a_full_disk_is_named_and_leaves_the_old_file(own, name):
    """A limit on the size of files stands for the disk."""
    (own / "OUT").write_text("yesterday's")
    limit = 400
    done = subprocess.run(
        [*COMMAND, *FULL[name]],
        cwd=own,
        capture_output=True,
        text=True,
        # Python writes half a file of bytecode where a file may not be longer, and the next process stumbles over it.
        env=ENVIRONMENT
        | {"NUMBA_DISABLE_JIT": "1", "MPLCONFIGDIR": str(own), "KERNELSTREAM_CACHE": str(own)}
        | {"PYTHONDONTWRITEBYTECODE": "1"},
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2, done.stderr
    assert "OUT cannot be written" in done.stderr and "Traceback" not in done.stderr
    assert (own / "OUT").read_text() == "yesterday's"
    assert not [one for one in hidden(own) if one.startswith(".kernelstream-")]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "libsvm", "parquet", "arrow", "npz", "npy"])
def test_a_full_disk_leaves_no_half_converted_file(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # as above
    rng = np.random.default_rng(0)
    source = ArraySource(rng.normal(size=(3000, 8)), rng.normal(size=3000))
    target = tmp_path / f"rows.{suffix}"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, before[1]))
    try:
        with pytest.raises(OSError, match=r"rows.*cannot be written"):
            convert(source, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_file_and_directory_are_on_the_disk_before_it_is_said_that_they_are(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append(stat.S_ISDIR(os.fstat(fd).st_mode)), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("replaced"), replace(a, b)))
    disk.write_text(tmp_path / "a.txt", "text")
    assert done == [False, "replaced", True]


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_has_is_not(tmp_path):
    code = (
        "import sys, time\n"
        "from kernelstream.engine import disk\n"
        "with disk.appearing(sys.argv[1]) as file:\n"
        "    owner = lambda: 0\n"
        "    print(disk.scratch(owner)[0], flush=True)\n"
        "    time.sleep(60)\n"
    )
    environment = ENVIRONMENT | {"TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path / f"{i}.txt"], stdout=subprocess.PIPE, text=True, env=environment
        )
        for i in range(2)
    ]
    try:
        scratch = [Path(writer.stdout.readline().strip()) for writer in writers]
        assert len(hidden(tmp_path)) == 2
        writers[0].send_signal(signal.SIGKILL)
        writers[0].wait()
        assert len(hidden(tmp_path)) == 2
        sweep = "import sys; from kernelstream.engine import disk; disk.write_text(sys.argv[1], ''); disk.scratch(disk)"
        subprocess.run([sys.executable, "-c", sweep, tmp_path / "new.txt"], env=environment, check=True)
        assert len(hidden(tmp_path)) == 1
        assert [one.exists() for one in scratch] == [False, True]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def test_a_place_is_held_by_one(tmp_path):
    with disk.held(tmp_path / "c.ks"):
        with pytest.raises(BlockingIOError), disk.held(tmp_path / "c.ks"):
            pass
        with disk.held(tmp_path / "other.ks"):
            pass
    with disk.held(tmp_path / "c.ks"):
        pass
    assert not hidden(tmp_path)


def test_an_interrupted_prediction_leaves_the_old_output(own):
    rows = (own / "own.csv").read_text().splitlines(keepends=True)
    (own / "long.csv").write_text(rows[0] + "".join(rows[1:]) * 4000)
    (own / "old.csv").write_text("yesterday's\n")
    command = [*COMMAND, "predict", "m.ks", "long.csv", "--block-rows", "1", "--out", "old.csv"]
    process = subprocess.Popen(command, cwd=own, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    while process.poll() is None and not hidden(own):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 130, told
    assert "old.csv was not written" in told
    assert (own / "old.csv").read_text() == "yesterday's\n"
    assert not hidden(own)
