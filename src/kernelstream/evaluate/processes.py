"""Processes: one function called many times, in other processes and in this one, which works while it waits.

The processes are this machine's, or those of the backend that is active in joblib: ``joblib.parallel_config("ray")``.
"""

import functools
import itertools
import pickle
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..engine.cores import available
from ..numerics.memory import one_blas_thread

# A worker has one core; these are what joblib, too, tells it that by.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
_IDLE_SECONDS = 300  # how long workers wait for more; starting one takes a second
_REST = "rest.pickle"
_LARGE = 2**20  # bytes


class Processes:
    """Calls function(shared, *arguments) in `jobs` processes, of which this one is the first; a context.

    shared: what all calls have in common; workers map its arrays from a file instead of getting copies of them.
    """

    def __init__(self, function: Callable[..., Any], shared: Any, jobs: int):
        self._function, self._shared, self._free = function, shared, jobs - 1
        self._waiting: deque[tuple[Future[Any], Any]] = deque()
        self._later: dict[Future[Any], Any] = {}
        self._lock = threading.Lock()
        self._workers: Any = None

    def __enter__(self) -> Self:
        if self._free > 0:
            backend = _other_backend()
            self._workers = _OwnWorkers(self._free) if backend is None else _BackendWorkers(backend, self._free + 1)
            self._workers.share(self._shared)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._lock:
            self._waiting.clear()
            self._later.clear()
        if self._workers is not None:
            self._workers.close(early=kind is not None)

    def call(self, *arguments: Any, later: bool = False) -> "Future[Any]":
        """Have the function called. What comes later is begun by workers that have nothing else to do, or when its
        result is asked for.
        """
        answer: Future[Any] = Future()
        with self._lock:
            if later:
                self._later[answer] = arguments
            else:
                self._waiting.append((answer, arguments))
        self._feed()
        return answer

    def result(self, answer: "Future[Any]") -> Any:
        """What a call has returned or raised; until then, other calls are done here."""
        while not answer.done():
            with self._lock:
                mine = self._waiting.popleft() if self._waiting else (answer, self._later.pop(answer, None))
            if mine[1] is None:
                break
            try:
                mine[0].set_result(self._function(self._shared, *mine[1]))
            except Exception as error:
                mine[0].set_exception(error)
        return answer.result()

    def _feed(self) -> None:
        """Give each worker that is free something to do."""
        while True:
            with self._lock:
                if self._free == 0 or not (self._waiting or self._later):
                    return
                if self._waiting:
                    answer, arguments = self._waiting.popleft()
                else:
                    answer = next(iter(self._later))
                    arguments = self._later.pop(answer)
                self._free -= 1
            given = self._workers.submit(self._function, arguments)
            given.add_done_callback(functools.partial(self._done, answer))

    def _done(self, answer: "Future[Any]", given: "Future[Any]") -> None:
        error = given.exception()
        if error is None:
            answer.set_result(given.result())
        else:
            answer.set_exception(error)
        with self._lock:
            self._free += 1
        self._feed()


def cores() -> int:
    """How many processes can work at once: this machine's cores, or what the active backend of joblib has."""
    backend = _other_backend()
    return available() if backend is None else int(backend.effective_n_jobs(-1))


def _other_backend() -> Any:
    """The backend that somebody has made joblib's; None where it is the usual one, processes of this machine."""
    from joblib._parallel_backends import LokyBackend
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    return None if isinstance(backend, LokyBackend) else backend


class _OwnWorkers:
    """Processes of this machine, which map what they share from files."""

    def __init__(self, n: int):
        self._pool = _workers(n)
        self._directory = tempfile.TemporaryDirectory(prefix="kernelstream-", ignore_cleanup_errors=True)

    def share(self, shared: Any) -> None:
        _write(shared, self._directory.name)

    def submit(self, function: Callable[..., Any], arguments: Any) -> "Future[Any]":
        given: Future[Any] = self._pool.submit(_call, self._directory.name, function, arguments)
        return given

    def close(self, *, early: bool) -> None:
        if early:  # whoever leaves early means it
            self._pool.shutdown(kill_workers=True)
            _workers.cache_clear()
        self._directory.cleanup()


class _BackendWorkers:
    """Those of a backend of joblib. What they share travels with each call, or by Ray's own store where Ray runs."""

    def __init__(self, backend: Any, n: int):
        import joblib

        self._backend, self._nested = backend, backend.get_nested_backend()
        backend.configure(n_jobs=n, parallel=joblib.Parallel(n_jobs=n))
        backend.start_call()

    def share(self, shared: Any) -> None:
        ray = sys.modules.get("ray")
        if ray is not None and ray.is_initialized():
            self._shared = functools.partial(ray.get, ray.put(shared))
        else:
            self._shared = functools.partial(_same, shared)

    def submit(self, function: Callable[..., Any], arguments: Any) -> "Future[Any]":
        from joblib.parallel import BatchedCalls

        answer: Future[Any] = Future()

        def done(out: Any) -> None:
            try:
                answer.set_result(self._backend.retrieve_result_callback(out)[0])
            except BaseException as error:
                answer.set_exception(error)

        def lost(given: "Future[Any]") -> None:
            if (error := given.exception()) is not None:
                answer.set_exception(error)

        call = functools.partial(_call_elsewhere, self._shared, function, arguments)
        given = self._backend.submit(BatchedCalls([(call, (), {})], self._nested), done)
        if isinstance(given, Future):  # of Dask, which calls back where there is a result only
            given.add_done_callback(lost)
        return answer

    def close(self, *, early: bool) -> None:
        self._backend.stop_call()
        self._backend.terminate()


def _same(shared: Any) -> Any:
    return shared


def _call_elsewhere(shared: Callable[[], Any], function: Callable[..., Any], arguments: Any) -> Any:
    with one_blas_thread():
        return function(shared(), *arguments)


@functools.lru_cache(maxsize=1)
def _workers(n: int) -> Any:
    """So many processes, which are kept for the next time; not those that joblib keeps for itself."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(n, timeout=_IDLE_SECONDS, env=_ONE_THREAD)


def _call(directory: str, function: Callable[..., Any], arguments: Any) -> Any:
    return function(_mapped(directory), *arguments)


def _write(shared: Any, directory: str) -> None:
    """Pickle an object into a directory, with each of its large arrays in a file that readers map."""
    from joblib.externals.loky.backend import reduction

    numbers = itertools.count()

    def apart(array: np.ndarray) -> Any:
        if array.nbytes < _LARGE or array.dtype.hasobject:
            return array.__reduce__()
        file = Path(directory) / f"{next(numbers)}.npy"
        np.save(file, array)
        return np.load, (str(file), "c")

    with open(Path(directory) / _REST, "wb") as file:
        # loky's pickler takes along what a script has defined.
        reduction.dump(shared, file, {np.ndarray: apart})


@functools.lru_cache(maxsize=1)
def _mapped(directory: str) -> Any:
    with open(Path(directory) / _REST, "rb") as file:
        return pickle.load(file)
