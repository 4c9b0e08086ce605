"""One function in several processes: the results of a plain loop, in whatever order they are asked for."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from scipy.sparse import csr_array

from kernelstream.evaluate.processes import Processes

ROOT = Path(__file__).parents[1]


def total(shared, i):
    dense, sparse, none = shared
    return float(dense[i].sum() + sparse[[i]].sum() + none.size), os.getpid()


def shared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 50_000)).astype(np.float32)
    return X[:, ::2], csr_array(X * (X > 2)), np.zeros(0)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_calls_are_those_of_a_plain_loop_and_this_process_takes_part(jobs):
    given = shared()
    with Processes(total, given, jobs) as processes:
        later = [processes.call(i, later=True) for i in range(20, 30)]
        calls = [processes.call(i) for i in range(20)]
        answers = [processes.result(call) for call in [*calls[::-1], *later]]
    expected = [total(given, i)[0] for i in [*reversed(range(20)), *range(20, 30)]]
    assert [value for value, _ in answers] == expected
    assert os.getpid() in {process for _, process in answers}


def wait_or_fail(shared, what):
    if what == "wait":
        time.sleep(0.05)
    elif what == "process":
        time.sleep(0.05)
        return os.getpid()
    elif what != "nothing":
        raise FloatingPointError(what)
    return None


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_raised_where_its_result_is_asked_for(jobs):
    with Processes(wait_or_fail, None, jobs) as processes:
        calls = [processes.call(what) for what in ("nothing", "this", "nothing", "that", "wait")]
        assert processes.result(calls[0]) is None
        for k, what in ((1, "this"), (3, "that")):
            with pytest.raises(FloatingPointError, match=what):
                processes.result(calls[k])
        assert processes.result(calls[4]) is None


def test_workers_take_part_and_a_pool_that_was_left_can_be_begun_again():
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), Processes(wait_or_fail, None, 2) as processes:
            calls = [processes.call("process") for _ in range(200)]
            found = {processes.result(call) for call in calls}
            raise KeyboardInterrupt
        assert len(found) == 2
    assert threading.active_count() < 20


def test_joblib_works_before_and_after_and_workers_are_kept():
    asked = [delayed(os.getpid)() for _ in range(2)]
    processes, kept = [], []
    for _ in range(2):
        kept.append(set(Parallel(n_jobs=2)(asked)))
        with Processes(wait_or_fail, None, 2) as some:
            found = {some.result(call) for call in [some.call("process") for _ in range(40)]}
        processes.append(found - {os.getpid()})
    assert processes[0] == processes[1] and len(processes[0]) == 1
    assert not processes[0] & (kept[0] | kept[1])


def test_what_comes_later_is_not_done_here_before_it_is_asked_for():
    with Processes(wait_or_fail, None, 1) as processes:
        later = processes.call("this", later=True)
        processes.result(processes.call("nothing"))
        assert not later.done()
        with pytest.raises(FloatingPointError, match="this"):
            processes.result(later)


def test_classes_of_a_script_reach_the_workers():
    script = """
from dataclasses import dataclass
import numpy as np
from kernelstream import OGD
from kernelstream.evaluate.experiments import Repetition, repeated
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource
from kernelstream.sources.survey import survey

@dataclass
class Mine(Gaussian):
    pass

X = np.random.default_rng(0).normal(size=(200, 3))
source = ArraySource(X, np.sign(X[:, 0]))
one = Repetition(OGD(kernel=Mine(gamma=0.5)), source, survey(source))
traces = [repeated([one], range(4), jobs=jobs)[0] for jobs in (1, 2)]
assert [t.last.metrics for t in traces[0]] == [t.last.metrics for t in traces[1]]
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def work_or_end(shared, what):
    if what == "end":
        os._exit(1)
    return shared[0] + wait_or_fail(shared, what)


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed", reason="pip install 'dask[distributed]'")
    import dask

    settings = {"distributed.scheduler.allowed-failures": 0, "logging.distributed": "critical"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_workers_of_dask_return_fail_and_end_as_those_of_this_machine_do(dask):
    with parallel_config(backend="dask"):
        with Processes(total, shared(), 3) as processes:
            answers = [processes.result(call) for call in [processes.call(i) for i in range(30)]]
        assert [value for value, _ in answers] == [total(shared(), i)[0] for i in range(30)]
        assert len({process for _, process in answers} - {os.getpid()}) > 0
        with Processes(work_or_end, (0,), 2) as processes:
            failing = processes.call("this")  # by a worker, at once
            with pytest.raises(FloatingPointError, match="this"):
                failing.result(60)
            ending = processes.call("end")
            with pytest.raises(Exception, match=r"end|exit|killed|workers died"):
                ending.result(60)
