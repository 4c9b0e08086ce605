"""Random numbers that are a function of (key, counter): the same compiled, interpreted and in the references.

The n-th number of a key is the splitmix64 finaliser of key + n * golden ratio (Steele, Lea, Flood 2014). Every
function takes NumPy uint64 scalars or arrays; ufuncs are used because they wrap around without a warning.
"""

from typing import Any

import numpy as np

from .compile import compiled

# What the random numbers of a kernel's key are for.
FREQUENCY, MIXTURE, SIGNS, BINS, PARTS, SEEDS, QUASI = range(7)

u8 = np.uint64
_GOLDEN = u8(0x9E3779B97F4A7C15)
_M1 = u8(0xBF58476D1CE4E5B9)
_M2 = u8(0x94D049BB133111EB)


def _mix(x):
    x = np.multiply(np.bitwise_xor(x, np.right_shift(x, u8(30))), _M1)
    x = np.multiply(np.bitwise_xor(x, np.right_shift(x, u8(27))), _M2)
    return np.bitwise_xor(x, np.right_shift(x, u8(31)))


def bits(key: Any, counter: Any) -> Any:
    """64 random bits for each (key, counter)."""
    return _mix(np.add(u8(key), np.multiply(np.add(np.asarray(counter, u8), u8(1)), _GOLDEN)))


def uniform(key: Any, counter: Any) -> Any:
    """A float64 in (0, 1), both ends excluded, for each (key, counter).

    52 bits: with 53 the half that is added to the largest word would round up to 1.
    """
    return (np.right_shift(bits(key, counter), u8(12)).astype(np.float64) + 0.5) * 2.0**-52


def key(seed: int, *labels: int) -> np.uint64:
    """The key that belongs to a seed and a path of labels (what the numbers are for, which feature, ...)."""
    word = bits(u8(seed % 2**64), 0)
    for label in labels:
        word = bits(word, label)
    return u8(word)


def generator(seed: int, *labels: int) -> np.ndarray:
    """A sequential generator's state: an array (key, how many were drawn)."""
    return np.array([key(seed, *labels), 0], u8)


_scalar_mix = compiled(_mix)


@compiled
def draw(state):
    """The next float64 in (0, 1) of a sequential generator. Ensures: equals `uniform(key, drawn before)`."""
    word = _scalar_mix(np.add(state[0], np.multiply(np.add(state[1], u8(1)), _GOLDEN)))
    state[1] = np.add(state[1], u8(1))
    return (np.float64(np.right_shift(word, u8(12))) + 0.5) * 2.0**-52


@compiled
def draw_below(state, n):
    """The next integer in 0 .. n-1 (bias below n / 2^52)."""
    return np.int64(draw(state) * n)
