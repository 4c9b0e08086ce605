"""The library alone: what `pip install kernelstream` brings is enough to learn, and what is missing is said by name."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import kernelstream
from kernelstream.extras import EXTRAS, MissingExtra, needing, require

ROOT = Path(__file__).parents[1]

ROOMS = """
import kernelstream
for name in "client distributed encoding evaluate kernels laws losses metrics river sources".split():
    assert getattr(kernelstream, name).__name__ == f"kernelstream.{name}"
"""


def test_rooms_are_there_when_they_are_named():
    subprocess.run([sys.executable, "-c", ROOMS], check=True)


LEARN = """
import numpy as np
import kernelstream
from kernelstream import FourierFeatures, Learner, OnlineKernelClassifier, Binary
from kernelstream.sources import open_source
X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
y = (X[:, 0] * X[:, 1] > 0).astype(int)
clf = OnlineKernelClassifier("perceptron", random_state=0).fit(X, y)
clf.save("model.ks")
assert (kernelstream.load("model.ks").predict_proba(X) == clf.predict_proba(X)).all()
assert FourierFeatures(10).fit_transform(X).shape == (300, 20)
open("rows.libsvm", "w").write("1 1:0.5 3:2\\n-1 2:1\\n")
assert sum(len(labels) for _, labels in open_source("rows.libsvm")) == 2
open("rows.csv", "w").write("a,b,label\\n1,2,0\\n3,4,1\\n")
try:
    open_source("rows.csv")
except ImportError as error:
    print(error)
try:
    import kernelstream.report.plots
except ImportError as error:
    print(error)
"""


def environment(directory: Path) -> dict[str, str]:
    """Without this process's way of finding packages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "KERNELSTREAM_CACHE": str(directory / "cache")}


def needed(requirements: list[str]) -> list[str]:
    """The names of what must be installed, of those that no extra asks for."""
    plain = [line for line in requirements if "extra ==" not in line]
    applies = [line for line in plain if not re.search(r"(python_version|python_full_version) *< *['\"]3\.1[01]", line)]
    return [re.match(r"[\w.-]+", line)[0] for line in applies]


def link_packages(wheel_requires: list[str], target: Path) -> set[str]:
    """Put what is needed, and what that needs, from this environment into another one; the names of all."""
    waiting, found = needed(wheel_requires), set()
    while waiting:
        name = waiting.pop()
        if name.lower() in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            pytest.skip(f"{name} is not installed here, and so cannot be there")
        found.add(name.lower())
        waiting += needed(package.requires or [])
        for top in {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}:
            place = Path(str(package.locate_file(top)))
            if place.exists() and not (target / top).exists():
                (target / top).symlink_to(place)
    return found


PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of this tree."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("building a wheel needs hatchling: pip install '.[dev]'")
    directory = tmp_path_factory.mktemp("wheel")
    build = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(directory), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, cwd=directory)
    (built,) = directory.glob("kernelstream-*.whl")
    return built


@pytest.fixture(scope="module")
def alone(tmp_path_factory, wheel):
    """The interpreter of an environment that has the wheel, and its plain dependencies."""
    directory = tmp_path_factory.mktemp("alone")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory / "env")], check=True)
    python = directory / "env" / "bin" / "python"
    install = [*PIP, "--python", str(python), "install", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    (site,) = (directory / "env" / "lib").glob("python*/site-packages")
    (metadata,) = site.glob("kernelstream-*.dist-info/METADATA")
    lines = re.findall(r"^Requires-Dist: (.*)$", metadata.read_text(), re.M)
    assert not link_packages(lines, site) & set(EXTRAS)
    return python


@pytest.mark.parametrize("check", ["twine check --strict", "check_wheel_contents"])
def test_a_wheel_is_as_the_index_wants_it(check, wheel):
    module, *words = check.split()
    pytest.importorskip(module, reason="pip install '.[dev]' brings twine and check-wheel-contents")
    done = subprocess.run([sys.executable, "-m", module, *words, wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_library_alone_learns_saves_and_says_what_brings_the_rest(alone, tmp_path):
    done = subprocess.run(
        [alone, "-c", LEARN], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'kernelstream[arrow]'" in done.stdout and "pip install 'kernelstream[plot]'" in done.stdout


def test_the_command_alone_says_what_brings_it(alone, tmp_path):
    for call in ([alone.parent / "kernelstream"], [alone, "-m", "kernelstream"]):
        done = subprocess.run(
            [*call, "--version"], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert done.stderr == (
            "kernelstream: The command line needs typer, which is not installed: pip install 'kernelstream[cli]' "
            "brings it (in a clone: pip install '.[cli]').\n"
        )


# What is asked for is known before anything is imported.


def test_extras_are_those_of_the_package():
    declared = distribution("kernelstream").metadata.get_all("Provides-Extra") or []
    assert {extra for extra, _ in EXTRAS.values()} <= {*declared} or "arrow" not in declared


def test_all_brings_everything_that_a_user_may_want():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (every,) = extras["all"]
    assert set(every.removeprefix("kernelstream[").removesuffix("]").split(",")) == {*extras} - {
        *("all", "ray", "docs", "dev", "peers")
    }


def test_a_package_that_is_missing_is_named_with_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"Pictures and reports need matplotlib.*'kernelstream\[plot\]'"):
        require("matplotlib")
    with pytest.raises(MissingExtra, match=r"need pyarrow.*'kernelstream\[arrow\]'"), needing("pyarrow"):
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow.csv")
    with pytest.raises(ModuleNotFoundError, match="other"), needing("pyarrow"):
        raise ModuleNotFoundError("No module named 'other'", name="other")


# The names of the package.


def test_dir_shows_public_names_and_nothing_else():
    assert sorted(dir(kernelstream)) == sorted([*kernelstream.__all__, "__version__"])
    for name in kernelstream.__all__:
        assert getattr(kernelstream, name) is not None
