"""Quantiles of the standard normal distribution, of which random frequencies are made.

They are SciPy's `ndtri`: Moshier's rational approximations (Cephes). Importing it takes longer than learning from some
ten thousand rows, so few quantiles are computed here, in the same order with the logarithm of the C library. Where
compilers do not fuse products into sums unasked, that gives the same bits; elsewhere SciPy is always asked.
"""

import math
import platform
from collections.abc import Sequence

import numpy as np

_TAIL = 0.13533528323661269189  # exp(-2)
_ROOT = 2.50662827463100050242  # of 2 pi
_FAR = 8.0

# Numerators and denominators, highest power first: between the tails, in the tails, and far out in them.
_MIDDLE = (
    (
        -5.99633501014107895267e1,
        9.80010754185999661536e1,
        -5.66762857469070293439e1,
        1.39312609387279679503e1,
        -1.23916583867381258016e0,
    ),
    (
        1.0,
        1.95448858338141759834e0,
        4.67627912898881538453e0,
        8.63602421390890590575e1,
        -2.25462687854119370527e2,
        2.00260212380060660359e2,
        -8.20372256168333339912e1,
        1.59056225126211695515e1,
        -1.18331621121330003142e0,
    ),
)
_NEAR_TAIL = (
    (
        4.05544892305962419923e0,
        3.15251094599893866154e1,
        5.71628192246421288162e1,
        4.40805073893200834700e1,
        1.46849561928858024014e1,
        2.18663306850790267539e0,
        -1.40256079171354495875e-1,
        -3.50424626827848203418e-2,
        -8.57456785154685413611e-4,
    ),
    (
        1.0,
        1.57799883256466749731e1,
        4.53907635128879210584e1,
        4.13172038254672030440e1,
        1.50425385692907503408e1,
        2.50464946208309415979e0,
        -1.42182922854787788574e-1,
        -3.80806407691578277194e-2,
        -9.33259480895457427372e-4,
    ),
)
_FAR_TAIL = (
    (
        3.23774891776946035970e0,
        6.91522889068984211695e0,
        3.93881025292474443415e0,
        1.33303460815807542389e0,
        2.01485389549179081538e-1,
        1.23716634817820021358e-2,
        3.01581553508235416007e-4,
        2.65806974686737550832e-6,
        6.23974539184983293730e-9,
    ),
    (
        1.0,
        6.02427039364742014255e0,
        3.67983563856160859403e0,
        1.37702099489081330271e0,
        2.16236993594496635890e-1,
        1.34204006088543189037e-2,
        3.28014464682127739104e-4,
        2.89247864745380683936e-6,
        6.79019408009981274425e-9,
    ),
)
_SAME_BITS = platform.machine() in ("x86_64", "AMD64")
_FEW = 2**17  # takes about as long as importing SciPy's
_TOGETHER = 2**13  # numbers whose intermediate results stay in a core's own cache


def normal_quantiles(chances: np.ndarray) -> np.ndarray:
    """The number below which a standard normal variable lies with each of these chances. Requires: in (0, 1)."""
    if chances.size > _FEW or not _SAME_BITS:
        from scipy.special import ndtri

        return np.asarray(ndtri(chances))
    flat = np.ascontiguousarray(chances, np.float64).ravel()
    found = np.empty_like(flat)
    for start in range(0, len(flat), _TOGETHER):
        found[start : start + _TOGETHER] = _quantiles(flat[start : start + _TOGETHER])
    return found.reshape(chances.shape)


def _quantiles(p: np.ndarray) -> np.ndarray:
    y = p - 0.5
    square = y * y
    found = (y + y * (square * _power_series(square, _MIDDLE[0]) / _power_series(square, _MIDDLE[1]))) * _ROOT
    upper = p > 1.0 - _TAIL
    (tail,) = np.nonzero(upper | (p <= _TAIL))
    found[tail] = _tails(np.where(upper[tail], 1.0 - p[tail], p[tail]))
    found[upper] *= -1.0
    return found


def _tails(p: np.ndarray) -> np.ndarray:
    """The quantiles of small chances."""
    x = np.sqrt(-2.0 * _log(p))
    z = 1.0 / x
    found = z * _power_series(z, _NEAR_TAIL[0]) / _power_series(z, _NEAR_TAIL[1])
    far = x >= _FAR
    if far.any():
        w = z[far]
        found[far] = w * _power_series(w, _FAR_TAIL[0]) / _power_series(w, _FAR_TAIL[1])
    return -(x - _log(x) / x - found)


def _log(x: np.ndarray) -> np.ndarray:
    """The C library's: NumPy's own differs in the last bit, from one processor to another."""
    return np.fromiter(map(math.log, x.tolist()), np.float64, len(x))


def _power_series(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    found = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        found *= x
        found += coefficient
    return found
