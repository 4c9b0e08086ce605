"""Wheels with compiled code: what they bring is not compiled, and a machine keeps to the code that it began with."""

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from kernelstream.numerics.cache import LEVELS, Shelves, runs_on
from kernelstream.numerics.compile import INTERPRETED

ROOT = Path(__file__).parents[1]
LEVEL = next((level for level in LEVELS if runs_on(level, llvm.get_host_cpu_features())), None)
pytestmark = [
    pytest.mark.skipif(INTERPRETED, reason="nothing is compiled"),
    pytest.mark.skipif(sys.platform != "linux" or LEVEL is None, reason="such wheels are for Linux on x86-64-v3"),
    pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="building a wheel needs hatchling"),
]

# What is learned by a learner; `compiling` is refused or not.
LEARN = """
import sys
import numpy as np
from numba.core import compiler
if {refused}:
    def refuse(*arguments, **options):
        raise AssertionError(f"{{arguments[2].__qualname__}} is compiled")
    compiler.compile_extra = refuse
from kernelstream import Binary, Learner
from kernelstream.numerics.compile import SHELVES
X = np.random.default_rng(0).normal(size=(200, 5))
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
learner = Learner("{learner}", Binary([-1, 1]))
learner.learn(X, y)
learner.learn_late(X, y, X)
np.save(sys.argv[1], learner.scores(X))
print(SHELVES.level)
"""


def environment(cache, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_"))}
    return {**kept, "KERNELSTREAM_CACHE": str(cache), **more}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """With the code of one learner in one precision."""
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, ROOT / "packaging" / "wheels.py", "perceptron", "--dtype", "float32"]
    options = ["--levels", LEVEL, "--out", directory]
    env = environment(directory) | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([*command, *options], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = directory.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The interpreter of a fresh environment with the wheel, and this one's other packages."""
    directory = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory / "env")], check=True)
    python = directory / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    (site,) = (directory / "env" / "lib").glob("python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "others.pth").write_text("\n".join(others) + "\n")
    return python


def learned(python, cache, out, *, learner="perceptron", refused=True):
    """The scores that a learner has then, and the level of the code that was used."""
    script = LEARN.format(learner=learner, refused=refused)
    done = subprocess.run([python, "-c", script, out], env=environment(cache), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load(out), done.stdout.strip()


def kept(cache):
    return sorted(Path(cache).rglob("*.code"))


def test_a_wheel_says_what_it_is_for(wheel):
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert wheel.name.endswith("x86_64.whl") and f"-{python}-{python}-manylinux" in wheel.name
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        metadata = files.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert any(re.fullmatch(rf"kernelstream/compiled/[0-9a-f]+/{LEVEL}/loop\.learn_rows-.*", name) for name in names)
    minor = ".".join(version("numba").split(".")[:2])
    assert f"Requires-Dist: numba=={minor}.*" in metadata.splitlines()


def test_what_a_wheel_brings_is_not_compiled(installed, tmp_path):
    scores, level = learned(installed, tmp_path / "cache", tmp_path / "scores.npy")
    assert level == LEVEL
    assert not kept(tmp_path / "cache")
    again, _ = learned(installed, "/dev/null/nowhere", tmp_path / "scores.npy")  # which cannot be written
    assert np.array_equal(again, scores)


def test_what_a_wheel_lacks_is_compiled_and_kept(installed, tmp_path):
    cache = tmp_path / "cache"
    first, _ = learned(installed, cache, tmp_path / "scores.npy", learner="ogd", refused=False)
    assert any(file.name.startswith("loop.learn_rows-") for file in kept(cache))
    again, level = learned(installed, cache, tmp_path / "scores.npy", learner="ogd")
    assert level == LEVEL
    assert np.array_equal(again, first)


def test_warming_up_chooses_native_code_for_good(installed, tmp_path):
    cache = tmp_path / "cache"
    shipped, _ = learned(installed, cache, tmp_path / "scores.npy")
    command = [installed, "-m", "kernelstream", "warm", "perceptron", "--dtype", "float32"]
    done = subprocess.run(command, env=environment(cache), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    native, level = learned(installed, cache, tmp_path / "scores.npy")
    assert level == "None"
    assert kept(cache)
    assert np.allclose(native, shipped, rtol=1e-3, atol=1e-4)


def features_of(*levels):
    return lambda: dict.fromkeys({name for level in levels for name in needs(level)}, True)


def needs(level):
    from kernelstream.numerics import cache

    return cache._NEEDS[level]


def test_the_best_level_that_runs_here_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelstream.numerics.cache.PACKAGE", tmp_path)
    monkeypatch.setenv("KERNELSTREAM_CACHE", str(tmp_path / "cache"))
    for level in LEVELS:
        (tmp_path / "compiled" / "abc" / level).mkdir(parents=True)
    assert Shelves("abc", features_of("x86-64-v4")).level == "x86-64-v4"
    assert Shelves("abc", features_of("x86-64-v3")).level == "x86-64-v3"
    assert Shelves("abc", dict).level is None
    assert Shelves("another", features_of("x86-64-v4")).level is None


@pytest.mark.parametrize("first", ["native", "shipped"])
def test_a_machine_keeps_to_what_it_began_with(tmp_path, monkeypatch, first):
    """Copies of the same sources, with code beside them and without, were used in either order."""
    monkeypatch.setattr("kernelstream.numerics.cache.PACKAGE", tmp_path)
    monkeypatch.setenv("KERNELSTREAM_CACHE", str(tmp_path / "cache"))
    shipped = tmp_path / "compiled" / "abc" / LEVEL
    if first == "shipped":
        shipped.mkdir(parents=True)
    assert Shelves("abc", features_of(LEVEL)).choice == first
    shipped.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        assert Shelves("abc", features_of(LEVEL)).choice == first
    with Shelves("abc", features_of(LEVEL)).natively():
        pass
    assert Shelves("abc", features_of(LEVEL)).choice == "native"


def test_native_code_is_not_chosen_by_a_warming_up_that_failed(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelstream.numerics.cache.PACKAGE", tmp_path)
    monkeypatch.setenv("KERNELSTREAM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "compiled" / "abc" / LEVEL).mkdir(parents=True)
    shelves = Shelves("abc", features_of(LEVEL))
    with pytest.raises(KeyboardInterrupt), shelves.natively():
        assert shelves.level is None
        raise KeyboardInterrupt
    assert shelves.level == LEVEL
    assert Shelves("abc", features_of(LEVEL)).choice == "shipped"
