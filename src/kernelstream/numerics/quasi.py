"""Quasi-random numbers: points of a Sobol sequence, which fill a cube more evenly than independent draws do.

Sobol (1967), with the direction numbers of Joe, Kuo (2008), SciPy's. A coordinate of the sequence depends on no other;
each is shifted at random (exclusive or with a word of its key; Owen 1995 calls it a digital shift), so that every point
is uniform, different seeds give independent errors, and a number is a function of (seed, coordinate, point).
"""

from collections.abc import Iterable

import numpy as np

from . import rng

COORDINATES = 21_201  # for which direction numbers are known
_SOBOL, _KEPT = 30, 52  # bits of a point, and of a number


def points(seed: int, coordinates: Iterable[int], n: int) -> np.ndarray:
    """(coordinates, n) numbers in (0, 1), both ends excluded: the first n points. Where the sequence has no such
    coordinate they are independent draws.
    """
    wanted = [int(coordinate) for coordinate in coordinates]
    keys = np.array([rng.key(seed, rng.QUASI, coordinate) for coordinate in wanted], np.uint64)
    found = rng.uniform(keys[:, None], np.arange(n))
    known = [i for i, coordinate in enumerate(wanted) if coordinate < COORDINATES]
    if known and n > 0:
        from scipy.stats.qmc import Sobol

        some = [wanted[i] for i in known]
        sequence = Sobol(max(some) + 1, scramble=False, bits=_SOBOL).random_base2((n - 1).bit_length())
        words = (sequence[:n, some].T * 2.0**_SOBOL).astype(np.uint64) << np.uint64(_KEPT - _SOBOL)
        shifts = rng.bits(keys[known], 0) >> np.uint64(64 - _KEPT)
        found[known] = ((words ^ shifts[:, None]).astype(np.float64) + 0.5) * 2.0**-_KEPT
    return found
