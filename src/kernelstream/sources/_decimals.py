"""Correctly rounded m * 10^p for integers m below 10^18, where one product of doubles is not enough.

10^p is held as four doubles of 21 bits each, m as two halves of 32: their products are exact, fused into a sum or not,
and so is their sum up to a rest far below the last bit. Where that rest could still turn the rounding, the answer is
"not sure" (Ziv's test).
"""

import math

import numpy as np

from ..numerics.compile import compiled

MANTISSA_LIMIT = 10**18
POWER_LIMIT = 64
_PARTS = 4
_PART_BITS = 21
_LOW = 2**32 - 1
# Four parts leave 2^-84 of a power out; the sums that follow lose less than 2^-100.
_MARGIN = 2.0**-80


def _parts(power: int) -> list[float]:
    """10^power as a sum of doubles with few enough bits that 32 more fit into a product."""
    above, below = 10 ** max(power, 0), 10 ** max(-power, 0)  # what is left, a fraction
    parts: list[float] = []
    while above > 0 and len(parts) < _PARTS:
        common = math.gcd(above, below)
        above, below = above // common, below // common
        exponent = above.bit_length() - below.bit_length() - _PART_BITS
        up, down = 1 << max(-exponent, 0), 1 << max(exponent, 0)
        whole = above * up // (below * down)
        above, below = above * up - whole * below * down, below * up
        parts.append(math.ldexp(whole, exponent))
    return parts + [0.0] * (_PARTS - len(parts))


_POWERS = np.array([_parts(power) for power in range(-POWER_LIMIT, POWER_LIMIT + 1)])


@compiled
def decimal(mantissa, power):
    """The nearest double to mantissa * 10^power, or NaN where it is not sure to be that: so are zeros and powers beyond
    POWER_LIMIT. Requires: |mantissa| < MANTISSA_LIMIT.
    """
    if mantissa == 0 or abs(power) > POWER_LIMIT:
        return np.nan
    size = abs(mantissa)
    high, low = (size >> 32) * 2.0**32, np.float64(size & _LOW)
    total = rest = 0.0
    for k in range(_PARTS):
        part = _POWERS[power + POWER_LIMIT, k]
        for product in (high * part, low * part):
            # Knuth's two-sum: `total + product` and what its rounding lost.
            larger = total + product
            added = larger - total
            rest += (total - (larger - added)) + (product - added)
            total = larger
    value = total + rest
    rest -= value - total
    margin = value * _MARGIN
    if value + (rest + margin) != value or value + (rest - margin) != value:
        return np.nan
    return value if mantissa > 0 else -value
