"""Losses: the value of each and its slope, as one scalar function of a margin or of a residual.

Binary margin: m = y f. Multiclass margin: m = f_y - f_s with s the best-scored other class (Crammer and Singer).
Regression residual: r = f - y. A loss gives its value phi(m) and phi'(m); `slope` distributes phi' over the outputs:
g = phi' y; or g_y = phi', g_s = -phi'; or g = phi'. Softmax alone looks at all scores.

Conventions. At a kink the slope of the flat side is taken (hinge at m = 1 has slope 0), except that the perceptron
counts m = 0 as a mistake, so that a model that knows nothing starts to learn. Ties for s go to the lowest class.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .numerics.compile import Pointer, call_for_effect, call_for_value, inlined
from .numerics.rows import MOST_DOUBLE, MOST_SINGLE
from .parameters import Parameters, at_least, did_you_mean, one_of, positive, share
from .tasks import BINARY, MULTICLASS, REGRESSION

# The share of the way to a target that the first step of a regression takes.
FIRST_STEP = 0.2

_BINARY_MARGIN, _CLASS_MARGIN, _RESIDUAL, _SOFTMAX = range(4)


class LossRecord(NamedTuple):
    """What compiled code sees of a loss."""

    form: int
    formula: int  # address of the loss's own formula
    constants: np.ndarray
    derivative: np.ndarray  # one number, where a formula leaves phi'
    slope: int  # address of `_slope`


@dataclass
class Loss(Parameters):
    """Base of all losses. A subclass of your own states its `tasks` and its `formula`."""

    tasks: ClassVar[tuple[str, ...]] = ()
    probabilistic: ClassVar[tuple[str, ...]] = ()  # tasks in which scores give probabilities
    _pointer: ClassVar[Pointer]

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "formula" in cls.__dict__:
            cls._pointer = Pointer(cls.formula, "wdw", value=True)

    def steepness(self, deviation: float) -> float:
        """How large a slope is, for targets of this deviation."""
        return 1.0

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        """Return phi(m) and leave phi'(m) in slope[0]; m is the margin or the residual."""
        raise NotImplementedError

    def constants(self) -> tuple[float, ...]:
        return ()

    def lower(self, task: str, dtype: Any) -> LossRecord:
        if task not in self.tasks:
            names = [name for name, loss in LOSSES.items() if task in loss.tasks]
            raise ValueError(f"{type(self).__name__} is not a loss for {task}; choose one of {', '.join(names)}.")
        form = {BINARY: _BINARY_MARGIN, MULTICLASS: _CLASS_MARGIN, REGRESSION: _RESIDUAL}[task]
        address = self._pointer.address(np.float64)
        return LossRecord(form, address, np.array(self.constants(), np.float64), np.zeros(1), _SLOPE.address(dtype))


class _Margin(Loss):
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS)


class _Residual(Loss):
    tasks = (REGRESSION,)


@dataclass
class PerceptronLoss(_Margin):
    """max(0, -m)."""

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        slope[0] = -1.0 if m <= 0.0 else 0.0
        return max(0.0, -m)


@dataclass
class Hinge(_Margin):
    """max(0, 1 - m)."""

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        slope[0] = -1.0 if m < 1.0 else 0.0
        return max(0.0, 1.0 - m)


@dataclass
class SquaredHinge(_Margin):
    """max(0, 1 - m)^2 / 2."""

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        gap = max(0.0, 1.0 - m)
        slope[0] = -gap
        return 0.5 * gap * gap


@dataclass
class SmoothHinge(_Margin):
    """0 for m >= 1; 1 - m - tau/2 for m <= 1 - tau; (1 - m)^2 / (2 tau) between."""

    tau: float = 0.5

    def check(self) -> None:
        positive(tau=self.tau)

    def constants(self) -> tuple[float, ...]:
        return (float(self.tau),)

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        tau = constants[0]
        gap = max(0.0, 1.0 - m)
        if gap >= tau:
            slope[0] = -1.0
            return gap - 0.5 * tau
        slope[0] = -gap / tau
        return 0.5 * gap * gap / tau


@dataclass
class Logistic(_Margin):
    """log(1 + e^-m)."""

    probabilistic: ClassVar[tuple[str, ...]] = (BINARY,)

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        e = math.exp(-abs(m))  # never overflows
        slope[0] = -(e if m > 0.0 else 1.0) / (1.0 + e)
        return max(0.0, -m) + math.log1p(e)


@dataclass
class Margin(_Margin):
    """-m itself, for learners that compare it with a border of their own (NORMA). Not a loss to descend."""

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        slope[0] = -1.0
        return -m


@dataclass
class Novelty(Margin):
    """-m, for learners that ask how far f is above a border of their own, whatever the label (NORMA)."""

    tasks: ClassVar[tuple[str, ...]] = (BINARY,)


@dataclass
class Softmax(Loss):
    """log sum_k e^(f_k) - f_y, over all classes."""

    tasks: ClassVar[tuple[str, ...]] = (MULTICLASS,)
    probabilistic: ClassVar[tuple[str, ...]] = (MULTICLASS,)

    def lower(self, task: str, dtype: Any) -> LossRecord:
        if task == MULTICLASS:
            return LossRecord(_SOFTMAX, 0, np.zeros(0), np.zeros(1), _SLOPE.address(dtype))
        return super().lower(task, dtype)


@dataclass
class Squared(_Residual):
    """r^2 / 2, so that the slope is r; with half=False r^2, whose slope is 2 r."""

    half: bool = True

    def check(self) -> None:
        one_of((True, False), half=self.half)

    @property
    def curvature(self) -> float:
        """How fast the slope grows with r."""
        return 1.0 if self.half else 2.0

    def steepness(self, deviation: float) -> float:
        return self.curvature * deviation

    def constants(self) -> tuple[float, ...]:
        return (self.curvature,)

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        slope[0] = constants[0] * m
        return 0.5 * constants[0] * m * m


@dataclass
class Absolute(_Residual):
    """|r|."""

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        slope[0] = 1.0 if m > 0.0 else (-1.0 if m < 0.0 else 0.0)
        return abs(m)


@dataclass
class Quantile(_Residual):
    """(1 - level) r above the target, -level r below it: least where f is the quantile of that level."""

    level: float = 0.5

    def check(self) -> None:
        share(level=self.level)

    def steepness(self, deviation: float) -> float:
        return max(self.level, 1.0 - self.level)

    def constants(self) -> tuple[float, ...]:
        return (float(self.level),)

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        slope[0] = 1.0 - constants[0] if m > 0.0 else (-constants[0] if m < 0.0 else 0.0)
        return slope[0] * m


@dataclass
class Tube(Absolute):
    """|r| itself, for learners that compare it with a border of their own (NORMA). Not a loss to descend."""


@dataclass
class EpsilonInsensitive(_Residual):
    """max(0, |r| - epsilon)."""

    epsilon: float = 0.1

    def check(self) -> None:
        at_least(0.0, epsilon=self.epsilon)

    def constants(self) -> tuple[float, ...]:
        return (float(self.epsilon),)

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        excess = abs(m) - constants[0]
        slope[0] = 0.0 if excess <= 0.0 else (1.0 if m > 0.0 else -1.0)
        return max(0.0, excess)


@dataclass
class Huber(_Residual):
    """r^2 / 2 for |r| <= delta, delta (|r| - delta/2) beyond."""

    delta: float = 1.0

    def check(self) -> None:
        positive(delta=self.delta)

    def steepness(self, deviation: float) -> float:
        return min(deviation, self.delta)

    def constants(self) -> tuple[float, ...]:
        return (float(self.delta),)

    @staticmethod
    def formula(constants: Any, m: float, slope: Any) -> float:
        delta = constants[0]
        slope[0] = min(max(m, -delta), delta)
        return slope[0] * (m - 0.5 * slope[0])


LOSSES: dict[str, type[Loss]] = {
    "perceptron": PerceptronLoss,
    "hinge": Hinge,
    "squared-hinge": SquaredHinge,
    "smooth-hinge": SmoothHinge,
    "logistic": Logistic,
    "softmax": Softmax,
    "squared": Squared,
    "absolute": Absolute,
    "epsilon-insensitive": EpsilonInsensitive,
    "huber": Huber,
    "quantile": Quantile,
}

# What a learner compares with a border of its own.
BORDERED: dict[str, type[Loss]] = {"margin": Margin, "tube": Tube, "novelty": Novelty}


def loss_names(task: str, default: str) -> tuple[str, ...]:
    """Names of the losses for a task, the default first."""
    names = [name for name, loss in LOSSES.items() if task in loss.tasks]
    return tuple(sorted(names, key=lambda name: name != default))


def as_loss(loss: "str | Loss") -> Loss:
    """A loss by its name, or the loss itself."""
    if isinstance(loss, Loss):
        return loss
    known = LOSSES | BORDERED
    if loss not in known:
        raise ValueError(f"loss={loss!r} is not known; {did_you_mean(loss, LOSSES)} one of {', '.join(LOSSES)}.")
    return known[loss]()


def in_the_targets_unit(loss: Loss) -> bool:
    """Whether steps along slopes that are bounded have to bring f to targets of any unit."""
    return REGRESSION in loss.tasks and not isinstance(loss, Squared)


def unit_of_steps(loss: Loss, deviation: float, regularization: float = 0.0) -> float:
    """How long a step along a slope is that brings f as far as targets of this deviation are apart. Where slopes are
    bounded it is at most 1 / lambda, beyond which (lambda / 2) ||f||^2 lets no f go.
    """
    unit = deviation / loss.steepness(deviation) if REGRESSION in loss.tasks else 1.0
    return min(unit, 1.0 / regularization) if regularization > 0.0 and in_the_targets_unit(loss) else unit


@inlined
def best_other(scores, y):
    """The class with the largest score other than y, the lowest of equals. Requires: at least two classes."""
    s = 1 if y == 0 else 0
    for k in range(s + 1, scores.shape[0]):
        if k != y and scores[k] > scores[s]:
            s = k
    return s


@inlined
def _softmax_slope(y, scores, g):
    top = np.float64(scores[0])
    for k in range(1, scores.shape[0]):
        if scores[k] > top:
            top = np.float64(scores[k])
    total = 0.0
    for k in range(scores.shape[0]):
        total += math.exp(scores[k] - top)
    for k in range(scores.shape[0]):
        g[k] = math.exp(scores[k] - top) / total
    g[y] -= 1
    return math.log(total) + top - scores[y]


def _slope(form, formula, constants, derivative, target, scores, g):
    if form == _BINARY_MARGIN:
        value = call_for_value(formula, constants, target * scores[0], derivative)
        g[0] = target * derivative[0]
    elif form == _RESIDUAL:
        value = call_for_value(formula, constants, scores[0] - target, derivative)
        g[0] = derivative[0]
    else:
        y = np.int64(target)
        g[:] = 0
        if form == _SOFTMAX:
            value = _softmax_slope(y, scores, g)
        elif scores.shape[0] == 1:  # the only class so far has nothing to be told from
            value = 0.0
        else:
            s = best_other(scores, y)
            margin = np.float64(scores[y]) - np.float64(scores[s])
            value = call_for_value(formula, constants, margin, derivative)
            g[y] = derivative[0]
            g[s] = -derivative[0]
    return value


_SLOPE = Pointer(_slope, "iiwwdrr", value=True)
_slope_of_one = inlined(_slope)


def _slopes(form, formula, constants, derivative, target, said, g, values):
    for i in range(said.shape[0]):
        values[i] = _slope_of_one(form, formula, constants, derivative, target, said[i], g[i])


_SLOPES = Pointer(_slopes, "iiwwdmmw", value=False)


def address_of_slopes(dtype: Any) -> int:
    """What the record of a learner keeps that calls `slopes`."""
    return _SLOPES.address(dtype)


@inlined
def slope(loss, target, scores, g):
    """Return the loss at `scores` and write its gradient with respect to them into `g`.

    `target` is +-1 (binary), a class index (multiclass) or the value (regression).
    """
    return call_for_value(loss.slope, loss.form, loss.formula, loss.constants, loss.derivative, target, scores, g)


@inlined
def slopes(loss, address, target, said, g, values):
    """`slope` for each row of `said`, into the rows of `g`; the losses into `values`. One call, of which those of a few
    outputs each would take longer than what they compute.
    """
    call_for_effect(address, loss.form, loss.formula, loss.constants, loss.derivative, target, said, g, values)


@inlined
def too_long(g, length):
    """Whether some entry of length * g is too large to be a coefficient, or is no number: such a step is not taken."""
    most = MOST_SINGLE if g.itemsize == 4 else MOST_DOUBLE
    far = False
    for k in range(g.shape[0]):
        far = far or not abs(length * np.float64(g[k])) <= most
    return far


@inlined
def any_slope(g):
    """Whether some output has a slope."""
    active = False
    for k in range(g.shape[0]):
        active = active or g[k] != 0
    return active
