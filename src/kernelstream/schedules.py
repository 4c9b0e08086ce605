"""The step size as a function of the round t = 1, 2, ...: a number (constant), or one of the schedules here."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .numerics.compile import inlined
from .parameters import Parameters, positive


class ScheduleRecord(NamedTuple):
    rate: float
    power: float


@dataclass
class Schedule(Parameters):
    """rate / t^power.

    rate: the first step's length.
    """

    rate: float = 1.0

    power = 0.0

    def check(self) -> None:
        positive(rate=self.rate)

    def lower(self) -> ScheduleRecord:
        return ScheduleRecord(float(self.rate), float(self.power))


class Constant(Schedule):
    """The same step every round."""


class InverseSqrt(Schedule):
    """rate / sqrt(t)."""

    power = 0.5


class InverseTime(Schedule):
    """rate / t; with rate = 1 / lambda it is Pegasos' step."""

    power = 1.0


SCHEDULES: dict[str, type[Schedule]] = {"constant": Constant, "inverse-sqrt": InverseSqrt, "inverse-time": InverseTime}


def as_schedule(learning_rate: "float | str | Schedule") -> Schedule:
    """A number stands for a constant step."""
    return learning_rate if isinstance(learning_rate, Schedule) else Constant(float(learning_rate))


@inlined
def step_size(schedule, t):
    if schedule.power == 0.0:
        return schedule.rate
    return schedule.rate / np.float64(t) ** schedule.power
