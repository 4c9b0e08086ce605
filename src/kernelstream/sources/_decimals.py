"""Correctly rounded m * 10^p for whole arrays of integers m below 10^18, where one product of doubles is not enough.

10^p is held as four doubles of 21 bits each, m as two halves of 32: their products are exact, and so is their sum up
to a rest far below the last bit. Where that rest could still turn the rounding, the answer is "not sure" (Ziv's test).
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

MANTISSA_LIMIT = 10**18
POWER_LIMIT = 64
_PARTS = 4
_PART_BITS = 21
# Four parts leave 2^-84 of a power out; the sums that follow lose less than 2^-100.
_MARGIN = 2.0**-80


def _parts(power: int) -> list[float]:
    """10^power as a sum of doubles with few enough bits that 32 more fit into a product."""
    rest = Fraction(10) ** power
    parts = []
    for _ in range(_PARTS):
        exponent = rest.numerator.bit_length() - rest.denominator.bit_length() - _PART_BITS
        part = (rest / Fraction(2) ** exponent).__floor__() * Fraction(2) ** exponent
        parts.append(float(part))
        rest -= part
        if rest == 0:
            break
    return parts + [0.0] * (_PARTS - len(parts))


_POWERS = np.array([_parts(power) for power in range(-POWER_LIMIT, POWER_LIMIT + 1)])


def decimals(mantissa: NDArray[np.int64], power: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The nearest doubles to mantissa * 10^power, and where they are sure to be that.

    Requires: |mantissa| < MANTISSA_LIMIT. Ensures: zeros and powers beyond POWER_LIMIT are never sure.
    """
    known = (np.abs(power) <= POWER_LIMIT) & (mantissa != 0)
    powers = _POWERS[np.where(known, power, 0) + POWER_LIMIT]
    size = np.abs(mantissa)
    high, low = (size >> 32) * 2.0**32, (size & (2**32 - 1)).astype(np.float64)
    total, rest = np.zeros(len(size)), np.zeros(len(size))
    for part in powers.T:
        for product in (high * part, low * part):
            # Knuth's two-sum: `total + product` and what its rounding lost.
            larger = total + product
            added = larger - total
            rest += (total - (larger - added)) + (product - added)
            total = larger
    value = total + rest
    rest -= value - total
    margin = value * _MARGIN
    sure = known & (value + (rest + margin) == value) & (value + (rest - margin) == value)
    return np.copysign(value, mantissa), sure
