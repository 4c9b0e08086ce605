"""The compiler gateway: one importer of Numba, a cache that cannot be stale, results that do not depend on it."""

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import kernelstream
from kernelstream.numerics.compile import INTERPRETED, compiled, specialisations

PACKAGE = Path(kernelstream.__file__).parent

LEARN = """
import sys, numpy as np, kernelstream
from kernelstream.kernels import Gaussian
X = np.random.default_rng(0).normal(size=(120, 5))
y = np.sign(X[:, 0] * X[:, 1] + 0.3)
out = []
for name in ("perceptron", "ogd", "fogd", "nogd"):
    parameters = {"n_components": 20} if name == "fogd" else {"budget": 25} if name == "nogd" else {}
    spec = kernelstream.make(name, kernel=Gaussian(gamma=0.4), **parameters)
    for dtype in ("float32", "float64"):
        out.append(kernelstream.Learner(spec, kernelstream.Binary([-1, 1]), seed=1, dtype=dtype).learn(X, y))
np.save(sys.argv[1], np.array(out, dtype=np.float64))
"""
# What is compiled anew, often: one learner in one precision.
ONE = LEARN.replace('("perceptron", "ogd", "fogd", "nogd")', '("perceptron",)').replace(', "float64")', ",)")


def run(script, *arguments, source=PACKAGE.parent, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "KERNELSTREAM_"))}
    env |= {"PYTHONPATH": str(source), **environment}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *map(str, arguments)], env=env, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    out = tmp_path_factory.mktemp("here") / "scores.npy"
    done = run(LEARN, out)
    assert done.returncode == 0, done.stderr
    return np.load(out)


def test_numba_is_imported_by_one_file_only():
    importers = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^\s*(import|from)\s+(numba|llvmlite)", path.read_text(), re.M)
    ]
    assert importers == ["numerics/compile.py"]


def test_interpreted_mode_gives_the_same_results(scores, tmp_path):
    done = run(LEARN, tmp_path / "i.npy", NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr
    interpreted = np.load(tmp_path / "i.npy")
    assert np.allclose(interpreted[1::2], scores[1::2], rtol=1e-9, atol=1e-12)  # float64
    assert np.allclose(interpreted[::2], scores[::2], rtol=1e-3, atol=1e-4)  # float32, where sums are reordered


def test_import_and_learning_work_without_a_writable_home_or_cache(scores, tmp_path):
    nowhere = "/dev/null/nowhere"
    done = run(ONE, tmp_path / "s.npy", HOME=nowhere, XDG_CACHE_HOME=nowhere)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "s.npy"), scores[:1])


def test_several_cold_processes_share_one_cache_without_harm(scores, tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    env |= {"PYTHONPATH": str(PACKAGE.parent), "KERNELSTREAM_CACHE": str(tmp_path / "cache")}
    outs = [tmp_path / f"{i}.npy" for i in range(2)]
    jobs = [subprocess.Popen([sys.executable, "-c", ONE, str(out)], env=env, stderr=subprocess.PIPE) for out in outs]
    errors = [job.communicate()[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], errors
    assert all(np.array_equal(np.load(out), scores[:1]) for out in outs)
    warm = run(ONE + "\nfrom kernelstream.engine import learn_rows; print(sum(learn_rows.stats.cache_misses.values()))",
               tmp_path / "w.npy", KERNELSTREAM_CACHE=str(tmp_path / "cache"))  # fmt: skip
    assert warm.stdout.strip() == "0", warm.stderr


def test_a_changed_callee_in_another_file_is_compiled_anew(tmp_path):
    source = tmp_path / "src" / "kernelstream"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    script = """
import numpy as np, kernelstream
learner = kernelstream.Learner(kernelstream.Perceptron(), kernelstream.Binary([-1, 1]))
learner.learn(np.eye(3), [1, -1, 1])
print(learner.scores(np.eye(3))[0, 0])
"""
    cache = str(tmp_path / "cache")
    first = run(script, source=source.parent, KERNELSTREAM_CACHE=cache)
    assert first.returncode == 0, first.stderr
    expansion = source / "numerics" / "expansion.py"
    text = expansion.read_text()
    assert "f.coef[k, i] = step * g[k]" in text
    expansion.write_text(text.replace("f.coef[k, i] = step * g[k]", "f.coef[k, i] = 2 * step * g[k]"))
    second = run(script, source=source.parent, KERNELSTREAM_CACHE=cache)
    assert float(second.stdout) == pytest.approx(2 * float(first.stdout)), second.stderr


REFUSING = """
from numba.core import compiler
def refuse(*arguments, **options):
    raise AssertionError(f"{arguments[2].__qualname__} is compiled")
compiler.compile_extra = refuse
"""


@pytest.mark.skipif(INTERPRETED, reason="nothing is cached")
def test_a_copy_of_the_package_elsewhere_shares_what_was_compiled(scores, tmp_path):
    source = tmp_path / "elsewhere" / "kernelstream"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    done = run(REFUSING + LEARN, tmp_path / "s.npy", source=source.parent)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "s.npy"), scores)


MINE = """
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kernelstream.engine import Algorithm, Common, common, evaluate, step
from kernelstream.tasks import REGRESSION


class Record(NamedTuple):
    rate: float


class State(NamedTuple):
    level: np.ndarray


class Scratch(NamedTuple):
    common: Common


@dataclass
class Mine(Algorithm):
    name: ClassVar[str] = "mine"
    tasks: ClassVar[tuple[str, ...]] = (REGRESSION,)

    def lower(self, task, dtype):
        return Record(0.5)

    def init(self, shape):
        return State(np.zeros(1, shape.dtype))

    def scratch(self, state, shape):
        return Scratch(common(shape.width, 1, shape.dtype))


@evaluate.register(Record)
def _(record, state, scratch, x, scores):
    scores[0] = state.level[0]


@step.register(Record)
def _(record, state, scratch, x, target, weight, scores):
    state.level[0] += record.rate
    return 0.0
"""


def test_an_algorithm_of_a_user_is_compiled_anew_when_it_changes_and_harms_nobody_else(scores, tmp_path):
    script = """
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np, kernelstream, mine
learner = kernelstream.Learner(mine.Mine(), "regression")
learner.learn(np.ones((6, 2)), np.ones(6))
print(learner.scores(np.ones((1, 2)))[0, 0])
"""
    cache = {"KERNELSTREAM_CACHE": str(tmp_path / "cache")}
    for text, expected in ((MINE, 3.0), (MINE.replace("+= record.rate", "+= 2 * record.rate"), 6.0)):
        (tmp_path / "mine.py").write_text(text)
        done = run(script, tmp_path, **cache)
        assert float(done.stdout) == expected, done.stderr
    done = run(ONE, tmp_path / "s.npy", **cache)  # where there is no module `mine`
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "s.npy"), scores[:1])


def test_the_cache_setting_of_other_numba_users_is_left_alone(tmp_path):
    done = run(
        "import numba; before = numba.config.CACHE_DIR; import kernelstream; assert numba.config.CACHE_DIR == before"
    )
    assert done.returncode == 0, done.stderr


def test_an_address_is_stable_and_one_a_precision():
    pointer = kernelstream.kernels.Gaussian._pointer
    assert pointer.address("float32") == pointer.address("float32")
    assert pointer.address("float32") != pointer.address("float64")


@pytest.mark.skipif(INTERPRETED, reason="interpreted code is never compiled")
def test_every_type_that_a_function_is_called_with_counts_as_a_compilation():
    @compiled
    def halved(x):
        return x / 2

    counts = [specialisations(halved)]
    for x in (1.0, 2.0, 1, np.float32(1), 3, np.float32(2)):
        halved(x)
        counts.append(specialisations(halved))
    assert counts == [0, 1, 1, 2, 3, 3, 3]


@pytest.mark.skipif(INTERPRETED, reason="nothing is cached")
def test_a_cache_whose_files_were_cut_short_is_made_anew(tmp_path):
    first, again = tmp_path / "first.npy", tmp_path / "again.npy"
    assert run(ONE, first, KERNELSTREAM_CACHE=str(tmp_path)).returncode == 0
    files = sorted((tmp_path / "kernelstream").rglob("*.code"))
    assert len(files) > 4
    sizes = {file: file.stat().st_size for file in files}
    for position, file in enumerate(files):
        os.truncate(file, sizes[file] * (position % 4) // 4)
    done = run(ONE, again, KERNELSTREAM_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(first), np.load(again))
    assert all(file.stat().st_size > sizes[file] // 2 for file in files)


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX systems")
def test_an_interrupt_waits_until_code_is_whole():
    """LLVM dies of one that comes while it calls Python."""

    @compiled
    def next_of(n):
        return n + 1

    load, seen = next_of._cache.load_overload, []

    def load_interrupted(types, context):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        seen.append(types)
        return load(types, context)

    next_of._cache.load_overload = load_interrupted
    with pytest.raises(KeyboardInterrupt):
        next_of(1)
    assert len(seen) == len(next_of.signatures) == 1
    assert next_of(1) == 2


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_garbage_is_collected_after_compiling_as_before_it():
    @compiled
    def doubled(x):
        return 2 * x

    load, seen = doubled._cache.load_overload, []

    def load_and_look(types, context):
        seen.append(gc.isenabled())
        return load(types, context)

    doubled._cache.load_overload = load_and_look
    try:
        for collects, x in ((True, 1), (False, 1.5)):
            (gc.enable if collects else gc.disable)()
            doubled(x)
            assert gc.isenabled() == collects
        gc.enable()
        with pytest.raises(Exception, match="nopython"):
            doubled("a word")  # * is not compiled for it
        assert gc.isenabled()
    finally:
        gc.enable()
    assert seen[:2] == [False, False]
