"""Nothing lost, nothing silently wrong: memory that ends, models that diverge, threads, interrupts.

What a process must survive is done in a process of its own; interpreted where that is quicker and shows the same.
"""

import contextlib
import dis
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression, make
from kernelstream.algorithms import auto
from kernelstream.algorithms._heir import Heir
from kernelstream.algorithms.auto import Auto
from kernelstream.encoding import Columns
from kernelstream.engine.runner import Runner
from kernelstream.engine.state import leaves
from kernelstream.kernels import Gaussian, Linear, Polynomial
from kernelstream.laws.examples import adjusted
from kernelstream.numerics import gradual

ROWS = np.random.default_rng(0).normal(size=(300, 3))
SIGNS = (ROWS[:, 0] > 0).astype(int)
SIZES = {"budget": 4, "rank": 2, "n_components": 3, "leaving": 2}


def small(name, **parameters):
    return replace(adjusted(make(name, kernel=Gaussian(0.3)), **SIZES), **parameters)


def run(script, interpreted=True, timeout=600):
    env = {**os.environ, **({"NUMBA_DISABLE_JIT": "1"} if interpreted else {})}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], env=env, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout.split()


# Memory that ends.

MEMORY = """
import os, resource, sys, tempfile
import numpy as np
from kernelstream import ALGORITHMS, Binary, Learner, make
from kernelstream.engine.state import ModelFileError
from kernelstream.kernels import Gaussian

def used():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()

def limited(work):
    resource.setrlimit(resource.RLIMIT_AS, (used() + 30_000_000, resource.RLIM_INFINITY))
    try:
        work()
        return False
    except MemoryError:
        return True
    except ModelFileError as error:
        assert "not enough memory" in str(error), error
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

X = np.random.default_rng(0).normal(size=(20, 3))
y = (X[:, 0] > 0).astype(int)
wide = np.zeros((1, 40_000)); wide[0, :3] = 1.0
failed = 0
for name in sys.argv[1:]:
    growing = {"grow_features": True, "grow_classes": True, "threads": 1}
    learner = Learner(make(name, kernel=Gaussian(0.3)), Binary([0, 1]), **growing)
    first = Learner(make(name, kernel=Gaussian(0.3)), Binary([0, 1]), threads=1)
    failed += limited(lambda: first.learn(wide, [1]))  # the first block
    assert first.n_seen in (0, 1) and (first.n_seen == 1 or first.width == 0), name
    learner.learn(X, y)
    before, n, task = learner.scores(X), learner.n_seen, learner.task
    failed += limited(lambda: learner.learn(wide, [2]))  # more features and a third class
    if learner.n_seen == n:
        assert learner.task is task and learner.width == 3, name
        assert np.array_equal(learner.scores(X), before), name
    before, n = learner.scores(X), learner.n_seen
    wider = Learner(make(name, kernel=Gaussian(0.3)), learner.task, grow_features=True, threads=1)
    wider.learn(wide[:, :30_000], y[:1])
    if name == "bpa-nn":
        path = os.path.join(tempfile.mkdtemp(), "m.ks")
        wider.save(path)
        failed += limited(lambda: Learner.load(path))
        loaded = Learner.load(path).to_parts()[1]
        assert all(np.array_equal(array, loaded[leaf]) for leaf, array in wider.to_parts()[1].items()), name
    if learner.width == 3:
        failed += limited(lambda: learner.merge(wider))
        if learner.n_seen == n:
            assert np.array_equal(learner.scores(X), before), name
    learner.learn(X, y)
    assert np.isfinite(learner.scores(X)).all(), name
print(failed)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is Linux's")
def test_where_memory_ends_a_learner_is_as_it_was():
    names = ["bsgd-m", "pegasos", "fogd", "nogd", "bpa-nn", "dualsgd", "avm"]
    script = MEMORY.replace("sys.argv[1:]", repr(names))
    assert int(run(script)[0]) >= len(names)


def test_a_state_is_adopted_with_all_that_goes_with_it_or_not_at_all(monkeypatch):
    learner = Learner(make("ogd", kernel=Gaussian(0.3)), Regression(), threads=1)
    learner.learn(ROWS[:200], ROWS[:200, 0])
    runner = learner._runner
    before, made = learner.scores(ROWS), type(runner)._room_for

    def without_memory(self, state):
        if state.f.points.shape[1] > 256:
            raise MemoryError
        return made(self, state)

    monkeypatch.setattr(type(runner), "_room_for", without_memory)
    with pytest.raises(MemoryError):
        learner.learn(np.tile(ROWS, (2, 1)), np.tile(ROWS[:, 0], 2))
    assert learner.n_seen > 200 and runner.state.f.points.shape[1] == 256
    reached = learner.n_seen - 200
    monkeypatch.undo()
    other = Learner(make("ogd", kernel=Gaussian(0.3)), Regression(), threads=1)
    other.learn(ROWS[:200], ROWS[:200, 0])
    assert np.array_equal(other.scores(ROWS), before)
    other.learn(np.tile(ROWS, (2, 1))[:reached], np.tile(ROWS[:, 0], 2)[:reached])
    assert np.array_equal(other.scores(ROWS), learner.scores(ROWS))
    for one in (learner, other):
        one.learn_one(ROWS[0], 1)
        one.learn(ROWS, ROWS[:, 0])
    assert np.array_equal(other.scores(ROWS), learner.scores(ROWS))


@pytest.mark.parametrize("threads", [1, 2])
def test_where_memory_ends_in_what_auto_does_between_rows_it_goes_on_as_if_there_had_been_enough(monkeypatch, threads):
    X = np.random.default_rng(1).normal(size=(11_600, 3))
    y = np.where(np.arange(len(X)) < 10_000, X[:, 0] > 0, X[:, 0] < 0).astype(int)  # another stream from a row on
    learners = [Learner(make("auto", size="small"), Binary([0, 1]), threads=threads) for _ in range(2)]
    learners[0].learn(X, y)
    calls = dict.fromkeys(
        [
            *((auto, name) for name in ("ridge_weights", "learned_anew", "no_rows", "with_awake", "take_step")),
            *((gradual, name) for name in ("fold", "_find_columns", "solve_lower")),
            *((Auto, name) for name in ("remembered", "looked_for_shifts", "tried")),
            *((auto.forgetting, name) for name in ("add_waiting", "solve")),
            *((Runner, name) for name in ("_room_for", "_adopt")),
            (Heir, "replay"),
        ],
        0,
    )
    failed = set()

    def failing(where, name, done):
        def call(*args, **options):
            if name != "_adopt":
                found = done(*args, **options)
            calls[where, name] += 1
            if calls[where, name] in (1, 3, 9, 30, 70, 150):
                failed.add(name)
                raise MemoryError
            return done(*args) if name == "_adopt" else found

        return call

    for where, name in calls:
        monkeypatch.setattr(where, name, failing(where, name, getattr(where, name)))
    learner = learners[1]
    while learner.n_seen < len(X):
        with contextlib.suppress(MemoryError):
            learner.learn(X[learner.n_seen :], y[learner.n_seen :])
    monkeypatch.undo()
    assert failed == {name for _, name in calls}
    for one in learners:
        one.learn(X[:300], y[:300])
    (header, arrays), (others, theirs) = (one.to_parts() for one in learners)
    assert header == others
    assert [leaf for leaf in arrays if not np.array_equal(arrays[leaf], theirs[leaf])] == []


def test_a_learner_that_could_not_be_prepared_is_saved_and_goes_on(monkeypatch, tmp_path):
    learner = Learner(make("auto", size="small"), Binary([0, 1]), threads=1)

    def without_memory(self, state, t):
        raise MemoryError

    monkeypatch.setattr(Auto, "remembered", without_memory)
    with pytest.raises(MemoryError):
        learner.learn(np.tile(ROWS, (2, 1)), np.tile(SIGNS, 2))
    monkeypatch.undo()
    learner.save(tmp_path / "m.ks")
    back = Learner.load(tmp_path / "m.ks")
    for one in (learner, back):
        one.learn(ROWS, SIGNS)
    assert learner.n_seen > 300 and np.array_equal(back.scores(ROWS), learner.scores(ROWS))


# Models that diverge.


def test_what_helps_against_divergence_is_a_parameter_that_the_learner_has():
    for name, spec in ALGORITHMS.items():
        named = {word for word in spec.cure.split() if hasattr(spec, word)}
        assert named or spec.cure == 'use dtype="float64"', name


def explosive():
    """Learners on rows on which steps grow without end."""
    for name, spec in ALGORITHMS.items():
        for task in spec.tasks:
            for loss in spec.losses(task) if hasattr(spec, "loss") else ("",):
                yield pytest.param(name, task, loss, id=f"{name}-{task}-{loss or 'own'}")


@pytest.mark.parametrize(("name", "task", "loss"), list(explosive()))
def test_a_step_that_overflows_is_not_taken(name, task, loss, tmp_path):
    parameters = {} if not loss else {"loss": loss}
    if hasattr(ALGORITHMS[name], "learning_rate"):
        parameters["learning_rate"] = 1e8 if name not in ("knlms", "kapa") else 1.9  # below 2
    elif hasattr(ALGORITHMS[name], "aggressiveness"):
        parameters["aggressiveness"] = 1e30 if name not in ("tvm", "lasvm") else 1e27  # at once their first bound
    if hasattr(ALGORITHMS[name], "regularization"):
        parameters["regularization"] = 0.0 if hasattr(ALGORITHMS[name], "learning_rate") else 1e-30
    kinds = {"binary": Binary([0, 1]), "multiclass": Multiclass(range(3)), "regression": Regression()}
    X, y = ROWS, {"binary": SIGNS, "multiclass": np.arange(300) % 3, "regression": 1e10 * ROWS[:, 1]}[task]
    learner = Learner(small(name, **parameters), kinds[task], threads=1)
    path = tmp_path / "m.ks"
    weight = 1e15 if name in ("auto", "arow", "sop") else 1e6  # which settle how long their steps are
    learner.learn(X[:1], y[:1])
    learner.save(path)
    for t in range(1, 300):
        seen = learner.n_seen
        kept = {leaf: array.copy() for leaf, array in leaves(learner._state).items()}
        try:
            learner.learn(X[t : t + 1], y[t : t + 1], [weight])
        except FloatingPointError:
            assert learner.n_seen == seen
            assert all(np.array_equal(kept[leaf], array) for leaf, array in leaves(learner._state).items())
        else:
            assert learner.n_seen == seen + 1
        assert all(np.isfinite(array).all() for array in leaves(learner._state).values()), t
    assert name != "auto" or learner.n_seen < 300
    learner.save(path)
    back = Learner.load(path)
    with contextlib.suppress(FloatingPointError):
        assert np.isfinite(back.scores(X)).all()


def test_predicting_with_a_model_that_has_diverged_raises_and_names_what_helps():
    learner = Learner(make("ogd", kernel=Linear(), learning_rate=1e4), Regression())
    with pytest.raises(FloatingPointError, match=r"Row \d+: .*lower learning_rate"):
        learner.learn(1e3 * ROWS, 1e3 * ROWS[:, 0])
    for predict in (learner.scores, learner.predict, lambda X: learner.scores_one(X[0])):
        with pytest.raises(FloatingPointError, match=r"Row 0: .*lower learning_rate"):
            predict(np.full((2, 3), 1e14))
    with pytest.raises(FloatingPointError, match="raise start or regularization"):
        Learner(make("pegasos", kernel=Linear(), loss="squared", regularization=1e-9), Regression()).learn(
            1e3 * ROWS, 1e3 * ROWS[:, 0]
        )


@pytest.mark.parametrize("name", ["projectron", "bpa-s", "tvm", "bogd++", "rbp"])
def test_rows_whose_kernel_value_overflows_are_refused_before_the_model_changes(name):
    learner = Learner(make(name, kernel=Polynomial(degree=3, gamma=1.0)), Binary([0, 1]))
    learner.learn(ROWS, SIGNS)
    before = learner.scores(ROWS)
    for learn in (lambda: learner.learn(1e14 * ROWS[:5], SIGNS[:5]), lambda: learner.learn_one(1e14 * ROWS[0], 1)):
        with pytest.raises(ValueError, match=r"k\(x, x\) = .*Scale the features"):
            learn()
    assert np.array_equal(learner.scores(ROWS), before) and learner.n_seen == 300


def test_saving_a_model_that_is_not_finite_refuses_and_keeps_the_file(tmp_path):
    learner = Learner(small("fogd"), Binary([0, 1]))
    learner.learn(ROWS, SIGNS)
    learner.save(tmp_path / "m.ks")
    before = (tmp_path / "m.ks").read_bytes()
    learner._state.weights[0, 0] = np.inf
    with pytest.raises(FloatingPointError, match=r"weights is not finite.*m\.ks is left as it was"):
        learner.save(tmp_path / "m.ks")
    assert (tmp_path / "m.ks").read_bytes() == before and len(list(tmp_path.iterdir())) == 1


# Threads.


def test_threads_that_learn_on_one_learner_take_turns():
    learner = Learner(make("bsgd-m", kernel=Gaussian(0.3), budget=20), Binary([0, 1]), scaling="online")
    errors = []

    def work(seed):
        order = np.random.default_rng(seed).permutation(300)
        try:
            for _ in range(10):
                learner.learn(ROWS[order], SIGNS[order])
                for t in order[:20]:
                    learner.learn_one(ROWS[t], SIGNS[t])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and learner.n_seen == 4 * 10 * 320
    assert (learner.predict(ROWS) == SIGNS).mean() > 0.8


def test_predictions_beside_a_learner_see_a_model_between_two_pieces():
    """All rows that a block predicts are equal, and so are their scores, unless a read was torn."""
    learner = Learner(make("rbp", kernel=Gaussian(0.3), budget=200), Multiclass(range(5)), threads=2)
    X, y = np.tile(ROWS, (20, 1)), np.random.default_rng(1).integers(5, size=6000)
    learner.learn(X[:300], y[:300])
    done, torn, shown = threading.Event(), [], [0]

    def predict():
        same = np.tile(ROWS[:1], (2000, 1))
        while not done.is_set():
            scores = learner.scores(same)
            torn.extend(scores[(scores != scores[0]).any(axis=1)])
            assert np.isfinite(learner.scores_one(ROWS[1])).all()
            shown[0] += 1

    readers = [threading.Thread(target=predict) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(5):
        learner.learn(X, y)
        for t in range(50):
            learner.learn_one(X[t], y[t])
    done.set()
    for reader in readers:
        reader.join()
    assert not torn and shown[0] > 3
    alone = Learner(make("rbp", kernel=Gaussian(0.3), budget=200), Multiclass(range(5)))
    alone.learn(X[:300], y[:300])
    for _ in range(5):
        alone.learn(X, y)
        alone.learn(X[:50], y[:50])
    assert np.array_equal(alone.scores(ROWS), learner.scores(ROWS))


def test_learners_that_merge_with_each_other_do_not_wait_for_ever():
    a, b = (Learner(small("rbp"), Binary([0, 1])) for _ in range(2))
    a.learn(ROWS, SIGNS)
    b.learn(ROWS, SIGNS)
    threads = [
        threading.Thread(target=one.merge, args=(other,), daemon=True) for one, other in ((a, b), (b, a), (a, a))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_a_copy_of_a_learner_has_locks_of_its_own():
    learner = Learner(small("rbp"), Binary([0, 1]))
    learner.learn(ROWS, SIGNS)
    back = pickle.loads(pickle.dumps(learner))
    assert back._turns is not learner._turns and back.n_seen == 300
    assert np.array_equal(back.scores(ROWS), learner.scores(ROWS))


# Interrupts.

INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from kernelstream import Binary, Learner, Regression, make
from kernelstream.kernels import Gaussian

def differ(one, other):
    (header, arrays), (others, theirs) = one.to_parts(), other.to_parts()
    return header != others or any(not np.array_equal(array, theirs[name]) for name, array in arrays.items())

X = np.random.default_rng(0).normal(size=(40, 3))
y = (X[:, 0] > 0).astype(int)
twice = interrupted = 0
for seed in range(CALLS):
    scaling, kernel = ("none", Gaussian(0.3)) if seed % 4 else ("online", Gaussian())
    task, given = (Binary([0, 1]), y) if seed % 2 else (Regression(), X[:, 0])
    learner, alone = (
        Learner(make("NAME", kernel=kernel, **PARAMETERS), task, scaling=scaling, threads=1) for _ in range(2)
    )
    timer = threading.Timer(0.002 + 0.0009 * seed, lambda: os.kill(os.getpid(), signal.SIGINT))
    begun = 0
    try:
        timer.start()
        while True:
            if seed % 3 == 0:
                learner.learn(X, given)
                begun += 40
                continue
            t = begun % 40
            if seed % 3 == 1:
                learner.learn(X[t : t + 1], given[t : t + 1])
            else:
                learner.learn_one(X[t], given[t])
            begun += 1
    except KeyboardInterrupt:
        interrupted += 1
    timer.join()
    n = learner.n_seen
    order = np.arange(n) % 40
    if n:
        alone.learn(X[order], given[order])
        twice += differ(learner, alone)
    twice += not np.array_equal(learner.scores(X), alone.scores(X))
    learner.learn(X, given)
    alone.learn(X, given)
    twice += differ(learner, alone)
print(interrupted, twice)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX systems")
@pytest.mark.parametrize(("name", "parameters"), [("ogd", {}), ("ridge", {"n_components": 30})])
def test_what_was_learned_when_an_interrupt_comes_is_what_is_counted(name, parameters):
    script = INTERRUPTED.replace("CALLS", "24").replace("NAME", name).replace("PARAMETERS", repr(parameters))
    interrupted, wrong = map(int, run(script))
    assert interrupted == 24 and wrong == 0


def interrupted_at(place, call):
    """Whether an interrupt came into a call: at this place, in order, of those at which Python looks for one, which are
    where functions begin, after calls, and at the ends of loops.
    """
    left, calls = place, {}

    def trace(frame, event, argument):
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            left -= name in ("RESUME", "JUMP_BACKWARD") or calls.get(frame, False)
            calls[frame] = name.startswith("CALL")
            if left == 0:
                left = -1
                signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    gc.disable()  # what others do when garbage is looked for would be interrupted instead
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
        gc.enable()
    return left < 0


def rows_and_ways():
    """What is learned row by row: ways to learn a row, and the columns that a learner has."""
    named = [dict(zip("abc", row.tolist(), strict=True)) for row in ROWS]
    yield "row", None, lambda learner, t, y: learner.learn_one(ROWS[t], y)
    yield "block", None, lambda learner, t, y: learner.learn(ROWS[t : t + 1], np.array([y]))
    yield "names", Columns(), lambda learner, t, y: learner.learn_one(named[t], y)
    yield "means", Columns(missing="mean"), lambda learner, t, y: learner.learn_one(named[t], y)

    def by_lane(learner, t, y):
        if not hasattr(learner, "own_lane"):
            learner.learn_one(named[t], y)
            learner.own_lane = learner.lane()
        else:
            lane, target = learner.own_lane, learner.task.encode_one(y)
            assert (t % 2 or lane.score(named[t])) and lane.learn(named[t], target, 1.0)

    yield "lane", Columns(), by_lane

    def by_label(learner, t, y):
        if "id" not in learner.waiting.ids:
            learner.predict(ROWS[t], id="id")
        learner.label("id", y)

    yield "label", None, by_label


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX systems")
@pytest.mark.parametrize("task", [Binary([0, 1]), Regression()], ids=["binary", "regression"])
@pytest.mark.parametrize(("columns", "learn"), [pytest.param(*way, id=name) for name, *way in rows_and_ways()])
def test_wherever_an_interrupt_comes_all_is_known_of_what_is_counted(task, columns, learn):
    ys = SIGNS if isinstance(task, Binary) else ROWS[:, 0]
    learner, alone = (Learner(small("fogd"), task, columns=columns, threads=1) for _ in range(2))
    place, came = 0, True
    while came:
        place += 1
        for t in range(64 * (place % 4 == 1)):  # now and then what waits is to be taken in
            for one in (learner, alone):
                learn(one, t, ys[t])
        t = place % 300
        came = interrupted_at(place, lambda t=t: learn(learner, t, ys[t]))
        assert learner.n_seen - alone.n_seen in (0, 1)
        if learner.n_seen > alone.n_seen:
            learn(alone, t, ys[t])
        elif learner.waiting.ids != alone.waiting.ids:
            alone.predict(ROWS[t], id="id")
        (header, arrays), (others, theirs) = learner.to_parts(), alone.to_parts()
        assert header == others
        assert all(np.array_equal(array, theirs[name]) for name, array in arrays.items())
    assert place > 10
