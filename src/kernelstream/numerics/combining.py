"""How what several parts say becomes one, f = w'e: least squares that forgets, or experts with a bound on their regret.

Of experts only losses l_i in [0, 1] are known. With r_i = w'l - l_i, R = sum r, V = sum r^2, L = sum l:

    AdaHedge   w_i ~ exp(-eta L_i), eta = ln M / sum (w'l + ln(sum_i w_i exp(-eta l_i)) / eta)
    Squint     w_i ~ int_0^1/2 exp(eta R_i - eta^2 V_i) d eta
    BOA        w_i ~ eta_i exp(eta_i sum (r_i - eta_i r_i^2)), eta_i = min(1/2, sqrt(ln M / (1 + V_i)))
    Hedge      w_i ~ exp(-L_i), of losses in a unit that the caller chooses: they are times its rate

de Rooij, van Erven, Grunwald, Koolen: Follow the Leader If You Can, Hedge If You Must (2014). Koolen, van Erven:
Second-order Quantile Methods for Experts and Combinatorial Games (2015), with their improper prior. Wintenberger:
Optimal Learning with Bernstein Online Aggregation (2017), with the rates of Gaillard, Stoltz, van Erven: A Second-order
Bound with Excess Losses (2014). Their Cor. 4 bounds its regret too: its proof takes a factor 1 + x for exp(x - x^2),
which is not larger. Freund, Schapire: A Decision-Theoretic Generalization of On-Line Learning (1997), for Hedge. The
type of the state says which it is. AdaHedge and Hedge take losses of any range.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .compile import by_record, compiled, inlined
from .elementary import exp
from .stack import learn_stack, stack_prior, stack_weights

LEAST_SQUARES = "least-squares"
# Where |R| and V are smaller, the exponent is so smooth that 20 nodes integrate to the last digits.
SMOOTH_R, SMOOTH_V = 8.0, 16.0
NODES, NODE_WEIGHTS = (a / 4.0 for a in np.polynomial.legendre.leggauss(20))
NODES = NODES + 0.25  # of [0, 1/2]
ASYMPTOTIC = 10.0  # from here on the asymptotic series of exp(x^2) erfc(x) has all digits


class Squares(NamedTuple):
    """Of least squares; what a row says is taken in the unit of the targets so far."""

    A: np.ndarray  # (M, M), its lower triangle
    b: np.ndarray  # (M,)
    square: np.ndarray  # 0-d, sum of y^2
    total: np.ndarray  # 0-d, of how many


class Hedged(NamedTuple):
    """Of AdaHedge."""

    losses: np.ndarray  # (M,) L
    gap: np.ndarray  # 0-d: what the weights lost more than the mix, ln M / eta


class Squinted(NamedTuple):
    """Of Squint."""

    regrets: np.ndarray  # (M,) R
    squares: np.ndarray  # (M,) V


class Aggregated(NamedTuple):
    """Of BOA."""

    regrets: np.ndarray  # (M,) sum (r - eta r^2)
    squares: np.ndarray  # (M,) V


class Weighed(NamedTuple):
    """Of Hedge, at a rate that is fixed."""

    losses: np.ndarray  # (M,) L, times the rate


def _squares(M: int) -> Squares:
    return Squares(*stack_prior(M), np.zeros(()), np.zeros(()))


METHODS: dict[str, Callable[[int], Any]] = {
    LEAST_SQUARES: _squares,
    "adahedge": lambda M: Hedged(np.zeros(M), np.zeros(())),
    "squint": lambda M: Squinted(np.zeros(M), np.zeros(M)),
    "boa": lambda M: Aggregated(np.zeros(M), np.zeros(M)),
}


def merged(mine: Any, theirs: Any, weight: float, since: Any = None) -> Any:
    """What both know: of least squares, which forgets, the mean; what experts lost adds up. What they have from the
    state that both went on from, if they did, counts once.
    """
    past = [0.0] * len(mine) if since is None else since
    sums = [a + b - c for a, b, c in zip(mine, theirs, past, strict=True)]
    if isinstance(mine, Squares):
        sums[:2] = ((1.0 - weight) * x + weight * y for x, y in zip(mine[:2], theirs[:2], strict=True))
    return type(mine)(*sums)


@by_record
def find_weights(state, w, factor):
    """w = the parts' weights; factor (M, M) is room."""


@by_record
def learn_losses(state, w, losses):
    """The parts had these losses in [0, 1], with these weights."""


def _learn_row(state, w, e, y, weight, unit, losses):
    """The parts, with weights w, said e (M, K) of a row whose targets are y (K,), both within -unit .. unit; losses is
    room.
    """
    M, K = e.shape
    for i in range(M):
        a = 0.0
        for k in range(K):
            error = (min(max(y[k], -unit), unit) - e[i, k]) / (2.0 * unit)
            a += error * error
        losses[i] = min(weight, 1.0) * a / K
    learn_losses(state, w, losses)


learn_row = by_record(_learn_row, default=_learn_row)


@inlined
def normalise(w):
    """w = exp(w), so that they add up to 1."""
    top, total = w[0], 0.0
    for i in range(w.shape[0]):
        top = max(top, w[i])
    for i in range(w.shape[0]):
        w[i] = math.exp(w[i] - top)
        total += w[i]
    for i in range(w.shape[0]):
        w[i] /= total


@compiled
def exponentials(values):
    """values = exp(values), in vector instructions."""
    for i in range(values.shape[0]):
        values[i] = exp(values[i])


@inlined
def divide_by_sum(w):
    total = 0.0
    for i in range(w.shape[0]):
        total += w[i]
    for i in range(w.shape[0]):
        w[i] /= total


@inlined
def mean_loss(w, losses):
    h = 0.0
    for i in range(w.shape[0]):
        h += w[i] * losses[i]
    return h


@inlined
def mean_said(w, said, scores):
    """scores = w'e, e (M, K) what is said."""
    for k in range(scores.shape[0]):
        total = 0.0
        for i in range(w.shape[0]):
            total += w[i] * said[i, k]
        scores[k] = total


# Least squares.


@find_weights.register(Squares)
def _(state, w, factor):
    stack_weights(state.A, state.b, factor, w)


@learn_row.register(Squares)
def _(state, w, e, y, weight, unit, losses):
    """e and y are divided by the targets' unit, in place."""
    M, K = e.shape
    for k in range(K):
        state.square[()] += weight * y[k] * y[k]
    state.total[()] += weight * K
    size = math.sqrt(state.square[()] / state.total[()]) if state.square[()] > 0.0 else 1.0
    for k in range(K):
        y[k] /= size
        for i in range(M):
            e[i, k] /= size
    learn_stack(state.A, state.b, e, y, weight)


# AdaHedge.


@inlined
def least(a):
    low = a[0]
    for i in range(a.shape[0]):
        low = min(low, a[i])
    return low


@inlined
def hedged_exponents(L, gap, w):
    """ln w but for a constant, none above 0, of what the parts lost so far and AdaHedge's gap."""
    M, low = w.shape[0], least(L)
    eta = math.log(M) / max(gap, 1e-290)
    for i in range(M):
        w[i] = -min(eta * (L[i] - low), 1e300)


@inlined
def hedged_weights(L, gap, w):
    """w = the parts' weights, of what they lost so far and AdaHedge's gap."""
    hedged_exponents(L, gap, w)
    normalise(w)


@inlined
def mix_exponents(gap, losses, out):
    """-eta (l_i - min l), of AdaHedge's gap."""
    M, low = losses.shape[0], least(losses)
    eta = math.log(M) / gap if gap > 1e-290 else 0.0
    for i in range(M):
        out[i] = -eta * (losses[i] - low)


@inlined
def gap_with(L, gap, w, losses, mixed):
    """Add the losses to L; return AdaHedge's gap with them. One part alone is weighed against none.

    mixed: sum_i w_i exp(-eta (l_i - min l)).
    """
    M, before = w.shape[0], least(L)
    for i in range(M):
        L[i] += losses[i]
    if gap > 1e-290:
        eta = math.log(M) / gap
        mix = least(losses) - math.log(mixed) / eta
    else:
        mix = least(L) - before
    return gap + max(mean_loss(w, losses) - mix, 0.0) if M > 1 else 0.0


@inlined
def hedged_gap(L, gap, w, losses):
    """`gap_with`, with what it needs."""
    mixed, low = 0.0, least(losses)
    if gap > 1e-290:
        eta = math.log(w.shape[0]) / gap
        for i in range(w.shape[0]):
            mixed += w[i] * math.exp(-eta * (losses[i] - low))
    return gap_with(L, gap, w, losses, mixed)


@find_weights.register(Hedged)
def _(state, w, factor):
    hedged_weights(state.losses, state.gap[()], w)


@learn_losses.register(Hedged)
def _(state, w, losses):
    state.gap[()] = hedged_gap(state.losses, state.gap[()], w, losses)


# Hedge.


@find_weights.register(Weighed)
def _(state, w, factor):
    low = least(state.losses)
    for i in range(w.shape[0]):
        w[i] = low - state.losses[i]
    normalise(w)


@learn_losses.register(Weighed)
def _(state, w, losses):
    for i in range(w.shape[0]):
        state.losses[i] += losses[i]


# Squint.


@inlined
def scaled_erfc(x):
    """exp(x^2) erfc(x), x >= 0."""
    if x < ASYMPTOTIC:
        return math.exp(x * x) * math.erfc(x)
    term, total = 1.0, 1.0
    for n in range(1, 12):
        term *= -(2 * n - 1) / (2.0 * x * x)
        total += term
    return total / (x * math.sqrt(math.pi))


@inlined
def log_integral(R, V):
    """ln int_0^1/2 exp(eta R - eta^2 V) d eta."""
    if abs(R) <= SMOOTH_R and V <= SMOOTH_V:
        total = 0.0
        for q in range(NODES.shape[0]):
            total += NODE_WEIGHTS[q] * math.exp(NODES[q] * (R - NODES[q] * V))
        return math.log(total)
    root = math.sqrt(max(V, 1e-300))
    a, c = R / (2.0 * root), (R - V) / (2.0 * root)
    common = math.log(math.sqrt(math.pi) / (2.0 * root))
    end = R / 2.0 - V / 4.0  # the exponent at 1/2
    if c > 0.0:
        return common + end + math.log(scaled_erfc(c) - math.exp(-end) * scaled_erfc(a))
    if a < 0.0:
        return common + math.log(scaled_erfc(-a) - math.exp(end) * scaled_erfc(-c))
    return common + a * a + math.log(math.erf(a) - math.erf(c))


@find_weights.register(Squinted)
def _(state, w, factor):
    for i in range(w.shape[0]):
        w[i] = log_integral(state.regrets[i], state.squares[i])
    normalise(w)


@learn_losses.register(Squinted)
def _(state, w, losses):
    h = mean_loss(w, losses)
    for i in range(w.shape[0]):
        r = h - losses[i]
        state.regrets[i] += r
        state.squares[i] += r * r


# BOA.


@inlined
def rate(M, V):
    return min(0.5, math.sqrt(math.log(M) / (1.0 + V)))


@find_weights.register(Aggregated)
def _(state, w, factor):
    for i in range(w.shape[0]):
        eta = rate(w.shape[0], state.squares[i])
        w[i] = math.log(eta) + eta * state.regrets[i]
    normalise(w)


@learn_losses.register(Aggregated)
def _(state, w, losses):
    h = mean_loss(w, losses)
    for i in range(w.shape[0]):
        r = h - losses[i]
        state.regrets[i] += r - rate(w.shape[0], state.squares[i]) * r * r
        state.squares[i] += r * r
