"""What every command says of a value that it cannot take: one line, in the words of its options."""

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from kernelstream import ALGORITHMS, OGD, Binary, Learner
from kernelstream.cli import app, command
from kernelstream.kernels import KERNELS
from kernelstream.losses import LOSSES

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "COLUMNS": "100"}
# What a command is given beside the value that it cannot take; its arguments first, in their order.
GIVEN = {
    "run": ({"data": "rows.csv"}, {"--algorithm": "ogd"}),
    "compare": ({"data": "rows.csv"}, {"--algorithms": "ogd,perceptron"}),
    "tune": ({"data": "rows.csv"}, {"--algorithm": "ogd", "--trials": "1", "--rows": "20"}),
    "predict": ({"model": "model.ks", "data": "rows.csv"}, {}),
    "inspect": ({"model": "model.ks"}, {"--output": "drawn"}),
    "export": ({"model": "model.ks"}, {"--to": "model.onnx"}),
    "convert": ({"data": "rows.csv", "out": "rows.libsvm"}, {}),
    "datasets add": ({"file": "rows.csv"}, {"--as": "abalone", "--format": "csv"}),
    "reproduce": ({"item": "avm/table-3"}, {}),
    "demo": ({}, {}),
    "warm": ({"algorithms": "ogd"}, {}),
    "serve": ({}, {"--store": "store"}),
    "token make": ({"name": "somebody"}, {"--scope": "learn", "--store": "store"}),
    "token list": ({}, {"--store": "store"}),
    "token revoke": ({"name": "somebody"}, {"--store": "store"}),
    "algorithms": ({}, {}),
    "datasets": ({}, {}),
}
WHOLE = ("", "many", "-1", "1.5", "1e400")
ABSENT = ("", "absent", "folder")  # files to be read
WRITTEN = ("", "folder", "absent/there", "rows.csv/there")
CHOICE = ("", "nonsense")
DIRECTORY = ("rows.csv",)
BAD = {
    "data": ("", "absent.csv", "checkerboard:rows=many"),
    "model": ("", "absent", "rows.csv"),
    "file": ("", "absent.csv"),
    "out": ("", "folder", "rows.unknown"),
    "item": ("nonsense",),
    "algorithms": CHOICE,
    "name": ("",),
    "--algorithm": CHOICE,
    "--algorithms": ("", "nonsense", "ogd,ogd", "no.such.Class"),
    "--set": ("", "nonsense", "=", "nonsense=1", "kernel.gamma=-1", "learning_rate=word"),
    "--config": ABSENT,
    "--test": ("", "absent.csv"),
    "--passes": WHOLE,
    "--orders": ("", "absent", "rows.csv", "objects.npz"),
    "--save": WRITTEN,
    "--checkpoint": WRITTEN,
    "--every": WHOLE,
    "--workers": (*WHOLE, "99999999999999999999"),
    "--apart": ("", "far"),
    "--predictions": ("", "rows.csv"),
    "--dtype": CHOICE,
    "--metrics": ("", "nonsense", "mae"),
    "--delay": ("", "many", "-1"),
    "--ask": (*CHOICE, "margin:b=word", "random:share=2"),
    "--drift": (*CHOICE, "adwin:delta=nan", "adwin:nonsense=1"),
    "--on-drift": (*CHOICE, "restart"),
    "--window": WHOLE,
    "--runs": (*WHOLE, "99999999999999999999"),
    "--json": WRITTEN,
    "--csv": WRITTEN,
    "--markdown": WRITTEN,
    "--report": WRITTEN,
    "--task": CHOICE,
    "--classes": ("0", "a,b", "5,6"),
    "--seed": ("", "many", "-1", "99999999999999999999"),
    "--scale": CHOICE,
    "--jobs": (*WHOLE, "99999999999999999999"),
    "--label": ("", "nowhere", "99"),
    "--delimiter": ("", "ab"),
    "--decimal": CHOICE,
    "--drop": ("", "nowhere", "99", "y"),
    "--max-features": WHOLE,
    "--categorical": CHOICE,
    "--categorical-column": ("", "nowhere"),
    "--missing": CHOICE,
    "--dates": CHOICE,
    "--on-error": CHOICE,
    "--format": CHOICE,
    "--block-rows": WHOLE,
    "--rows": WHOLE,
    "--subset": CHOICE,
    "--trials": (*WHOLE, "99999999999999999999"),
    "--out": WRITTEN,
    "--intervals": ("", "often", "0.9"),
    "--output": DIRECTORY,
    "--image-shape": ("", "28", "0x0"),
    "--card": WRITTEN,
    "--to": ("", "model.pb", "absent/model.onnx"),
    "--as": ("", "nonsense"),
    "--labels": ("", "g", "g=word"),
    "--scope": CHOICE,
    "--store": DIRECTORY,
    "--host": ("192.0.2.1",),
    "--port": ("", "many", "-1", "65536"),
    "--tls-certificate": ("absent",),
    "--tls-key": ("absent",),
    "--log-level": CHOICE,
}
OTHERWISE = {
    ("reproduce", "--out"): DIRECTORY,
    ("predict", "--max-features"): WHOLE,
}
# Any text may be an address: what is said where nobody answers stands in tests/test_ray.py.
ANY = {"--ray"}
# The words of settings, which people write as they are.
PARTS = [*ALGORITHMS.values(), *KERNELS.values(), *LOSSES.values()]
SETTINGS = {field.name for part in PARTS for field in fields(part)} | {"name", "g", "h"}


def commands(found, *path):
    for name, inner in getattr(found, "commands", {}).items():
        yield from commands(inner, *path, name)
    if getattr(found, "invoke_without_command", True):
        yield " ".join(path), found


COMMANDS = dict(one for name in typer.main.get_command(app).commands for one in commands(command(name), name))
VALUED = {
    (name, one.name if one.param_type_name == "argument" else one.opts[0])
    for name, command in COMMANDS.items()
    for one in command.params
    if not getattr(one, "is_flag", False)
}
# Options that several commands read in the same way have all their values in the first of these.
CASES = [
    (command, option, value)
    for command, option in sorted(VALUED, key=lambda one: (list(GIVEN).index(one[0]), one[1]))
    if option not in ANY
    for value in OTHERWISE.get((command, option), BAD[option])[
        : 1 if ("run", option) in VALUED and command != "run" else None
    ]
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("given")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(float)
    lines = [f"{a:.3f},{b:.3f},{label:.0f}" for (a, b), label in zip(X, y, strict=True)]
    (place / "rows.csv").write_text("\n".join(["a,b,y", *lines, ""]))
    (place / "folder").mkdir()
    (place / "store").mkdir()
    CliRunner().invoke(app, ["token", "make", "somebody", "--scope", "learn", "--store", str(place / "store")])
    np.savez(place / "objects.npz", perm=np.array([[1, 2], [3]], dtype=object))
    learner = Learner(OGD(), Binary([0.0, 1.0]))
    learner.learn(X, y)
    learner.save(place / "model.ks")
    return place


def test_every_option_of_every_command_has_values_that_it_cannot_take():
    assert {command for command, _ in VALUED} <= set(GIVEN) == set(COMMANDS)
    assert {option for _, option in VALUED} == set(BAD) | ANY


@pytest.mark.parametrize(("command", "option", "value"), CASES)
def test_what_an_option_cannot_take_is_refused_in_its_own_words(place, monkeypatch, command, option, value):
    monkeypatch.chdir(place)
    arguments, options = (dict(some) for some in GIVEN[command])
    (options if option.startswith("--") else arguments)[option] = value
    before = sorted(place.iterdir())
    given = [*command.split(), *arguments.values(), *(f"{name}={one}" for name, one in options.items())]
    answer = CliRunner().invoke(app, given, env={"COLUMNS": "200"})
    assert isinstance(answer.exception, SystemExit) and answer.exit_code == 2, answer.output
    *_, said = answer.stderr.strip().splitlines()
    assert said.startswith(("kernelstream: ", "Error: "))
    words = [repr(value), option, option.upper(), *filter(None, re.split("[:=,]", value))]
    assert any(word in said for word in words), said
    spoken = set(re.findall(r"(?<![\w.-])([a-z_]+)=", said)) - SETTINGS
    assert all(f"{name}=" in value for name in spoken) or option == "--orders", said
    assert "Errno" not in said and "Traceback" not in answer.output
    assert sorted(place.iterdir()) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize(
    "given",
    [
        ("--version",),
        ("--help",),
        ("run", "--help"),
        ("algorithms",),
        ("algorithms", "--json"),
        ("datasets",),
        ("reproduce",),
        ("inspect", "model.ks"),
        ("predict", "model.ks", "rows.csv"),
        ("run", "rows.csv", "--algorithm", "ogd", "--json", "-"),
    ],
)
def test_a_full_disk_behind_what_is_printed_is_said_in_one_line(place, given):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kernelstream", *given],
            cwd=place,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "what is printed cannot be written (No space left on device)" in done.stderr.splitlines()[-1]


def test_what_a_run_was_begun_with_is_said_in_the_words_of_the_options(place, monkeypatch, tmp_path):
    monkeypatch.chdir(place)
    kept = tmp_path / "part.ks"
    begun = ["run", "rows.csv", "--algorithm", "ogd", "--checkpoint", str(kept)]
    assert CliRunner().invoke(app, begun).exit_code == 0
    for changed, was, now in (
        (["--categorical", "onehot"], "--categorical auto", "--categorical onehot"),
        (["--algorithm", "fogd"], "--algorithm ogd", "--algorithm fogd"),
        (["--set", "kernel.gamma=3"], "--set kernel.gamma=scale", "--set kernel.gamma=3"),
        (["--shuffle"], "no --shuffle", "--shuffle"),
        (["--window", "5"], "no --window", "--window 5"),
        (["--drop", "a", "--drop", "b"], "no --drop", "--drop a --drop b"),
        (["--no-header"], "no --header", "--no-header"),
        (["--seed", "3"], "--seed 0", "--seed 3"),
    ):
        answer = CliRunner().invoke(app, [*begun, "--resume", *changed])
        assert answer.exit_code == 2
        assert f"was begun with {was}, and is to go on with {now}; resume it as it was begun" in answer.stderr
