"""A crew in this process, whose workers have virtual clocks: what a cluster of any size would do, with real learners.

A call is carried out when it is asked for, and its answer comes at a virtual time: the worker's own, later by what the
call costs there. Models travel, and calls are made, as `Costs` says.
"""

import heapq
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .crew import Answer, Lost
from .worker import Learned, Worker


class Costs(NamedTuple):
    """Seconds: of a row and of a merge of two models (None: as long as it took here), of a call and its answer, of
    adopting a model once it has come, of the coordinator at each call; bytes a second.
    """

    row: float | None = None
    merge: float | None = None
    call: float = 1e-3
    bandwidth: float = 1e9
    adopt: float = 0.0
    ask: float = 0.0


class SimulatedCrew:
    """speeds: of the workers, 1 as a rule. lose: asked before each call, with the worker and the
    method, whether the worker is lost at it.
    """

    def __init__(
        self,
        size: int,
        costs: Costs,
        *,
        speeds: Sequence[float] | None = None,
        lose: Callable[[int, str], bool] = lambda worker, method: False,
    ):
        self.size, self.costs, self._lose = size, costs, lose
        self._speeds = list(speeds or [1.0] * size)
        self._workers: list[Worker | None] = [None] * size
        self._free = [0.0] * size  # when each has nothing more to do
        self._answers: list[tuple[float, int, Answer]] = []
        self._now, self._calls = 0.0, 0

    def ask(self, worker: int, method: str, *arguments: Any) -> None:
        self._calls += 1
        self._now += self.costs.ask
        value, seconds = self._called(worker, method, arguments)
        arrival = max(self._now, self._free[worker]) + self.costs.call / 2
        self._free[worker] = arrival + seconds / self._speeds[worker]
        heapq.heappush(
            self._answers,
            (self._free[worker] + self.costs.call / 2, self._calls, Answer(worker, value)),
        )

    def _called(self, number: int, method: str, arguments: Any) -> tuple[Any, float]:
        if self._lose(number, method):
            self._workers[number] = None
            return Lost("simulated"), 0.0
        worker = self._workers[number]
        if worker is None:
            worker = self._workers[number] = Worker()
        start = time.perf_counter()
        value = getattr(worker, method)(*arguments)
        seconds = time.perf_counter() - start
        if isinstance(value, Learned) and self.costs.row is not None:
            seconds = value.rows * self.costs.row
            value = value._replace(seconds=seconds)
        elif method == "merged":
            seconds = (seconds if self.costs.merge is None else self.costs.merge) + self._travel(arguments[0])
        elif method == "adopt":
            # All get it from one another, as a tree.
            seconds = self._travel(arguments[1]) * math.ceil(math.log2(self.size + 1)) + self.costs.adopt
        elif method == "give":
            seconds = 0.0
        return value, seconds

    def _travel(self, model: Any) -> float:
        return float(sum(array.nbytes for array in model[1].values()) / self.costs.bandwidth)

    def next(self) -> Answer:
        arrival, _, answer = heapq.heappop(self._answers)
        self._now = max(self._now, arrival)
        return answer

    def share(self, value: Any) -> Any:
        return value

    def fetched(self, reference: Any) -> Any:
        return reference

    def clock(self) -> float:
        return self._now
