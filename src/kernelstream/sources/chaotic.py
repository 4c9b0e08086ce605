"""Trajectories of chaotic systems, integrated to the fourth order; the same numbers however long they are asked for."""

import numpy as np

STEPS = 10  # of the integration in a unit of time of the Mackey-Glass equation
TRANSIENT = 1000  # units of time after which it is taken to be on its attractor
LORENZ_STEP = 0.01
LORENZ_TRANSIENT = 2000  # steps


def mackey_glass(n: int, tau: int, every: int, first: float) -> np.ndarray:
    """x(0), x(every), x(2 every), ... of dx/dt = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x, n values.

    first: x before it begins, long before 0. The right side is linear in x, and what drives it is known tau ahead: from
    step to step x falls by exp(-0.1 / STEPS) and gains an integral, of the cubic through four values of what is
    integrated, all on one side of the kink that it has tau after the beginning.
    """
    h = 1.0 / STEPS
    fall, delay = np.exp(-0.1 * h), tau * STEPS
    total = (TRANSIENT + every * n) * STEPS + 1
    x = np.full(delay + total, first)
    ahead = delay - 2  # so many steps are known at once: the last needs what drives it two steps on
    falls = fall ** np.arange(1, ahead + 1)
    for start in range(delay, delay + total - 1, ahead):
        length = min(ahead, delay + total - 1 - start)
        # Times from one step before `start` to one after the last.
        past = x[max(0, start - delay - 1) : start - delay + length + 2]
        past = np.concatenate([np.full(length + 3 - len(past), first), past])
        drive = 0.2 * past / (1.0 + past**10)
        before, at, after, behind = (drive[i : i + length] for i in range(4))
        gain = h / 24.0 * (-(fall**2) * before + 13.0 * fall * at + 13.0 * after - behind / fall)
        kink = 2 * delay - start  # up to which what drives it is one number
        if 0 < kink <= length:
            gain[kink - 1] = 10.0 * (1.0 - fall) * at[kink - 1]
        if 0 <= kink < length - 2:
            ahead_of_it = drive[kink + 1 : kink + 5] * fall ** np.arange(1.0, -3.0, -1.0)
            gain[kink] = h / 24.0 * (ahead_of_it @ (9.0, 19.0, -5.0, 1.0))
        some = falls[:length]
        x[start + 1 : start + 1 + length] = some * (x[start] + np.cumsum(gain / some))
    return np.ascontiguousarray(x[delay + TRANSIENT * STEPS :: every * STEPS][:n])


def lorenz(n: int, every: int, first: float) -> np.ndarray:
    """The first coordinate of the Lorenz system (10, 28, 8/3) after every so many steps of 0.01, n values, by the
    classical Runge-Kutta method. first: the first coordinate long before.
    """
    x, y, z, h = float(first), 1.0, 25.0, LORENZ_STEP
    found = np.empty(n)
    for t in range(-LORENZ_TRANSIENT, n * every):
        if t >= 0 and t % every == 0:
            found[t // every] = x
        a, b, c = _slope(x, y, z)
        d, e, f = _slope(x + h / 2 * a, y + h / 2 * b, z + h / 2 * c)
        g, i, j = _slope(x + h / 2 * d, y + h / 2 * e, z + h / 2 * f)
        k, m, o = _slope(x + h * g, y + h * i, z + h * j)
        x += h / 6 * (a + 2 * d + 2 * g + k)
        y += h / 6 * (b + 2 * e + 2 * i + m)
        z += h / 6 * (c + 2 * f + 2 * j + o)
    return found


def _slope(x: float, y: float, z: float) -> tuple[float, float, float]:
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z
