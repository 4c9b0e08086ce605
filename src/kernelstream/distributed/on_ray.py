"""Workers as actors of Ray, which starts them again when they die."""

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from ..extras import needing
from .crew import Answer, Lost
from .worker import Unready, Worker

with needing("ray"):
    import ray
    from ray.exceptions import (
        NodeDiedError,
        ObjectLostError,
        RayActorError,
        RayTaskError,
        WorkerCrashedError,
    )

# An actor has one core; its calls come one after another.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
_GONE = (RayActorError, ObjectLostError, NodeDiedError, WorkerCrashedError, Unready)
_MODELS = ("give", "merged")  # methods that give one
_PATIENCE = 5.0  # seconds until a host answers
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@contextlib.contextmanager
def cluster(address: str | None, workers: int | None) -> Iterator[int]:
    """Ray, as it runs already, at an address or on this machine; how many workers there can be, or shall be."""
    if ray.is_initialized():
        yield _size(workers)
        return
    _require_somebody(address)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": False}
    if address is None:
        options |= {"include_dashboard": False, "num_cpus": workers}
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        ray.init(address="local" if address is None else address, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ValueError(f"Ray at {address!r} cannot be reached ({error}); start it: ray start --head.") from None
    try:
        yield _size(workers)
    finally:
        ray.shutdown()


@contextlib.contextmanager
def everywhere(address: str) -> Iterator[None]:
    """Inside, repetitions and trials run all over a cluster (`evaluate.processes`), by joblib's backend for Ray."""
    import joblib
    from ray.util.joblib import register_ray

    with cluster(address, None) as cores:
        register_ray()
        with joblib.parallel_config(backend="ray", n_jobs=cores):
            yield


def _require_somebody(address: str | None) -> None:
    """Refuse an address where nobody listens: Ray itself tries for a minute and more."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ValueError(f"Ray at {address!r} cannot be reached ({error}); start it: ray start --head.") from None


def _size(workers: int | None) -> int:
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    if workers is not None and workers > cores:
        raise ValueError(
            f"workers={workers}, and the Ray cluster has {cores} cores, one a worker; take fewer, or add nodes."
        )
    return cores if workers is None else workers


class RayCrew:
    """Actors that are `Worker`s."""

    def __init__(self, size: int):
        self.size = size
        made = ray.remote(Worker).options(
            num_cpus=1, max_restarts=-1, max_task_retries=0, runtime_env={"env_vars": _ONE_THREAD}
        )
        self.actors: list[Any] = [made.remote() for _ in range(size)]
        self._calls: dict[Any, tuple[int, Any]] = {}
        self._began = time.perf_counter()

    def ask(self, worker: int, method: str, *arguments: Any) -> None:
        called = getattr(self.actors[worker], method)
        if method in _MODELS:
            model, rest = called.options(num_returns=2).remote(*arguments)
            self._calls[rest] = worker, model
        else:
            # What is adopted may be adopted twice: Ray repeats it when the worker has come back.
            tries = {"max_task_retries": -1} if method == "adopt" else {}
            self._calls[called.options(**tries).remote(*arguments)] = worker, None

    def next(self) -> Answer:
        (done,), _ = ray.wait(list(self._calls), num_returns=1)
        worker, model = self._calls.pop(done)
        value = self.fetched(done)
        return Answer(worker, value if model is None or isinstance(value, Lost) else (model, value))

    def share(self, value: Any) -> Any:
        return ray.put(value)

    def fetched(self, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except RayTaskError as error:
            if isinstance(error.cause, _GONE):
                return Lost(str(error.cause))
            raise error.cause from None
        except _GONE as error:
            return Lost(str(error))

    def clock(self) -> float:
        return time.perf_counter() - self._began

    def close(self) -> None:
        """Let the workers go."""
        for actor in self.actors:
            ray.kill(actor)
