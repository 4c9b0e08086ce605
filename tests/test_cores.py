"""Several threads for one learner: the same bits, halts and errors as one; none is asked in vain or left at work."""

import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from kernelstream import FOGD, NOGD, OGD, Binary, Learner, Multiclass, Regression, make
from kernelstream.algorithms import _expansion
from kernelstream.engine import cores
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.algorithms import everything_shared
from kernelstream.laws.examples import stream
from kernelstream.sources import open_source
from kernelstream.tasks import BINARY, REGRESSION

ROOT = Path(__file__).parents[1]
GAUSSIAN = Gaussian(gamma=0.3)
MANY = 7


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """As many helpers as a test asks for, however few cores there are."""
    with ThreadPoolExecutor(MANY) as pool:
        monkeypatch.setattr(cores, "_helpers", lambda: pool)
        yield


def both(spec, task, X, y, weights=None, *, rows=256, dtype="float32", threads=2):
    """Two learners, of which the second had several threads, and what each said of the rows or failed with."""
    learners, said = [], []
    for n in (1, threads):
        learner = Learner(spec, task, dtype=dtype, threads=n)
        learner.sharing = everything_shared(rows)
        try:
            said.append(learner.learn(X, y, weights))
        except FloatingPointError as error:
            said.append(str(error))
        learners.append(learner)
    return learners, said


# The same bits.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("spec", [FOGD(kernel=GAUSSIAN, n_components=300), NOGD(kernel=GAUSSIAN, budget=90, rank=20)])
def test_chunks_of_their_own_size_and_smaller_ones(spec, storage, dtype):
    X, y = stream(BINARY, n=1500)
    weights = np.random.default_rng(0).random(1500)
    for rows in (256, 8, 36):
        (one, two), said = both(spec, Binary([-1, 1]), storage(X), y, weights, rows=rows, dtype=dtype)
        assert np.array_equal(*said) and snapshot(one) == snapshot(two)


@pytest.mark.parametrize("budget", [1, 8, 9, 40, 63, 300])
def test_nogd_changes_its_phase_inside_a_block(budget):
    X, y = stream(REGRESSION, n=400)  # every row is added, so that the phase ends behind row `budget`
    spec = NOGD(kernel=GAUSSIAN, budget=budget, rank=1 + budget // 4)
    (one, two), said = both(spec, Regression(), X, y, rows=8)
    assert np.array_equal(*said) and snapshot(one) == snapshot(two) and two._state.map.frozen


def test_real_rows_that_are_worth_two_threads(data_directory, monkeypatch):
    X, y = next(iter(open_source(data_directory / "mnist" / "mnist.train.npz", block_rows=3000)))
    X = X.reshape(len(y), -1) / 255.0
    spec = make("fogd", kernel=Gaussian(gamma=0.02), n_components=200)
    one, two = (Learner(spec, Multiclass(np.arange(10.0)), threads=n) for n in (1, 2))
    expected = one.learn(X, y)
    asked = []
    monkeypatch.setattr(cores, "_in_threads", lambda take, n, do=cores._in_threads: [asked.append(n), do(take, n)])
    assert np.array_equal(two.learn(X, y), expected) and snapshot(one) == snapshot(two)
    assert np.array_equal(two.scores(X), one.scores(X))
    assert asked == [2, 2], "both were shared"


# The same errors and halts.


@pytest.mark.parametrize("row", [3, 333, 590])
def test_what_diverges_stops_at_the_same_row(row, none_is_at_work):
    X, y = stream(REGRESSION, n=600)
    weights = np.where(np.arange(600) < row, 1.0, 1e9)  # from here on a step multiplies the scores
    spec = FOGD(kernel=GAUSSIAN, n_components=40)
    (one, two), said = both(spec, Regression(), X, y, weights, rows=8)
    assert isinstance(said[0], str) and said[0] == said[1]
    assert row < one.n_seen == two.n_seen < row + 10 and snapshot(one) == snapshot(two)
    assert none_is_at_work()


class Halting(OGD):
    """It has nothing to lift, so that nothing that is lifted depends on a step; every full dictionary halts it."""

    def lifts_ahead(self, state):
        return True


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("capacity", [8, 48, 53, 300])
def test_halts_are_heeded_before_the_next_row(capacity, threads, monkeypatch):
    monkeypatch.setattr(_expansion, "FIRST_CAPACITY", capacity)
    X, y = stream(REGRESSION, n=500)  # every row is added
    (one, several), said = both(Halting(kernel=GAUSSIAN), Regression(), X, y, rows=8, threads=threads)
    assert np.array_equal(*said) and snapshot(one) == snapshot(several) and several.size == 500


# The threads themselves.


class Rows:
    """What `in_turn` did, on scratches that only count."""

    def __init__(self, n, rows=10):
        self.scratches = [SimpleNamespace(common=SimpleNamespace(chunk=rows)) for _ in range(n)]
        self.lifted, self.learned, self.fails = [], [], {}

    def lift(self, scratch, start, stop):
        scratch.holds = (start, stop)
        self.lifted.append(start)
        self.fail("lift", start)

    def learn(self, scratch, start, stop):
        assert scratch.holds == (start, stop)
        self.fail("learn", start)
        self.learned.append((start, stop))
        return start != self.fails.get("end")

    def fail(self, what, start):
        if self.fails.get(what) == start:
            raise KeyboardInterrupt(f"{what} {start}")

    def run(self, start, stop, **fails):
        self.fails = fails
        cores.in_turn(self.lift, self.learn, self.scratches, start, stop)


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("stop", [4, 10, 23, 995])
def test_chunks_are_learned_in_their_order_by_who_lifted_them(n, stop, none_is_at_work):
    rows = Rows(n)
    rows.run(3, stop)
    expected = [(start, min(start + 10, stop)) for start in range(3, stop, 10)]
    assert rows.learned == expected and sorted(rows.lifted) == [start for start, _ in expected]
    assert none_is_at_work()


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("at", [0, 10, 20, 50, 490])
@pytest.mark.parametrize("what", ["lift", "learn", "end"])
def test_whatever_ends_it_ends_all_threads_and_learns_no_later_row(n, at, what, none_is_at_work):
    rows = Rows(n)
    if what == "end":
        rows.run(0, 500, end=at)
    else:
        with pytest.raises(KeyboardInterrupt, match=f"{what} {at}"):
            rows.run(0, 500, **{what: at})
    learned = [start for start, _ in rows.learned]
    assert learned == list(range(0, 10 * len(learned), 10)) and max(learned, default=0) <= at
    assert what != "end" or learned[-1] == at
    assert none_is_at_work()


def test_a_call_that_no_helper_joins_does_all_alone(none_is_at_work):
    busy = threading.Event()
    held = [cores.ask(busy.wait) for _ in range(MANY)]
    rows = Rows(3)
    rows.run(0, 95)
    busy.set()
    assert [start for start, _ in rows.learned] == rows.lifted == list(range(0, 95, 10))
    assert all(one.result() for one in held) and none_is_at_work()
    assert len(rows.lifted) == 10, "who is free after the end finds nothing to do"


def test_a_slow_thread_is_left_fewer_chunks():
    rows, slow = Rows(2), []
    lift = rows.lift

    def slower(scratch, start, stop):
        lift(scratch, start, stop)
        if scratch is rows.scratches[1]:
            slow.append(start)
            time.sleep(0.01)

    rows.lift = slower
    rows.run(0, 1000)
    assert rows.learned == [(start, start + 10) for start in range(0, 1000, 10)] and len(slow) < 60


def test_few_rows_ask_for_no_thread(monkeypatch):
    monkeypatch.setattr(cores, "_in_threads", lambda take, n: pytest.fail("a thread for few rows"))
    X, y = stream(BINARY, n=500)
    learner = Learner(FOGD(kernel=GAUSSIAN, n_components=20), Binary([-1, 1]), threads=2)
    for start, stop in ((0, 1), (1, 30), (30, 500)):
        learner.learn(X[start:stop], y[start:stop])
        learner.scores(X[start:stop])


def test_a_number_of_threads_is_checked_and_kept_in_files(tmp_path):
    for threads in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match=f"threads={threads!r} must be a whole number"):
            Learner("fogd", Binary([-1, 1]), threads=threads)
    learner = Learner("fogd", Binary([-1, 1]), threads=1)
    learner.learn(*stream(BINARY))
    learner.save(tmp_path / "model.ks")
    assert Learner.load(tmp_path / "model.ks").threads == 1


# Processes.


def test_a_process_that_ends_does_the_rest_alone():
    code = """
import atexit, numpy as np
from kernelstream import Learner, Binary
from kernelstream.engine.cores import ask
from kernelstream.sources import ArraySource, ReadAhead
ask(int).result()
X, y = np.random.default_rng(0).normal(size=(3000, 8)), np.resize([-1, 1], 3000)
learner = Learner("fogd", Binary([-1, 1]), threads=2)
source = ArraySource(X, y, block_rows=999)
atexit.register(lambda: print(sum(len(learner.learn(*block)) for block in ReadAhead(source))))
"""
    assert printed(code) == ["3000"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_has_helpers_of_its_own():
    code = """
import os
from kernelstream.engine import cores
print(cores.ask(int, "1").result(), flush=True)
child = os.fork()
if child == 0:
    print(cores.ask(int, "2").result(30), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""
    assert printed(code) == ["1", "2", "0"]


def printed(code, **environment):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_the_default_is_two_and_heeds_the_environment_in_workers_of_joblib_too():
    code = """
from joblib import Parallel, delayed
from kernelstream.engine import cores
def asked():
    from kernelstream.engine import cores
    return cores.DEFAULT_THREADS
print(cores.DEFAULT_THREADS, *Parallel(n_jobs=cores.available())(delayed(asked)() for _ in range(2)))
"""
    assert printed(code) == [str(min(2, cores.available())), "1", "1"]
    alone = "from kernelstream.engine.cores import DEFAULT_THREADS; print(DEFAULT_THREADS)"
    assert printed(alone, NUMBA_NUM_THREADS="1") == ["1"]


def test_a_pickled_learner_goes_on_in_another_process(tmp_path):
    X, y = stream(BINARY)
    learner = Learner(NOGD(kernel=GAUSSIAN, budget=20), Binary([-1, 1]))
    learner.learn(X[:100], y[:100])
    (tmp_path / "pickle").write_bytes(pickle.dumps((learner, X, y)))
    code = f"""
import pickle
learner, X, y = pickle.load(open({str(tmp_path / "pickle")!r}, "rb"))
print(learner.learn(X[100:], y[100:]).tobytes().hex())
"""
    assert printed(code) == [learner.learn(X[100:], y[100:]).tobytes().hex()]


def test_an_interrupt_while_a_helper_begins_leaves_a_process_that_ends():
    """Python's own list of threads to be told of the end must have it: what it has not would be waited for for ever."""
    program = """
import signal, threading
from kernelstream.engine import cores

begin = threading.Thread.start
def interrupted(thread):
    begin(thread)
    signal.raise_signal(signal.SIGINT)
threading.Thread.start = interrupted
try:
    cores.ask(int)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
