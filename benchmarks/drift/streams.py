"""Streams that change: three that are drawn, of any length and always the same, and four of the world in their order.

sea         x uniform on [0, 10]^3, y = x_0 + x_1 <= theta, theta = 8, 9, 7, 9.5, a quarter of the rows each; one label
            in ten is wrong. Street, Kim: A Streaming Ensemble Algorithm for Large-Scale Classification (2001).
hyperplane  x uniform on [0, 1]^10, y = w'x >= sum w / 2, each w_j moving by 0.001 a row and turning one time in ten;
            one label in twenty is wrong. Hulten, Spencer, Domingos: Mining Time-Changing Data Streams (2001).
led         the seven segments of a digit, each wrong one time in ten, and 17 that tell nothing; with each quarter of
            the rows two more of those that tell change places with others. Breiman et al.: CART (1984).
"""

from collections.abc import Callable

import numpy as np

from ..no_tuning.sets import Rows, rows_of

# The segments: top, upper left, upper right, middle, lower left, lower right, bottom.
DIGITS = np.array([list(map(int, digit)) for digit in (
    "1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011",
)])  # fmt: skip
THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


def quarters(n: int) -> np.ndarray:
    """In which quarter of the stream each row is."""
    return np.arange(n) * 4 // n


def sea(n: int) -> Rows:
    draws = np.random.default_rng(1)
    X = draws.uniform(0.0, 10.0, (n, 3))
    y = X[:, 0] + X[:, 1] <= np.array(THRESHOLDS)[quarters(n)]
    return Rows(X, (y ^ (draws.random(n) < 0.1)).astype(float), regression=False)


def hyperplane(n: int) -> Rows:
    draws = np.random.default_rng(2)
    X = draws.random((n, 10))
    turns = np.where(draws.random((n, 10)) < 0.1, -1.0, 1.0).cumprod(axis=0)
    w = draws.random(10) + 0.001 * turns.cumsum(axis=0)
    y = (X * w).sum(axis=1) >= w.sum(axis=1) / 2
    return Rows(X, (y ^ (draws.random(n) < 0.05)).astype(float), regression=False)


def led(n: int) -> Rows:
    draws = np.random.default_rng(3)
    y = draws.integers(0, 10, n)
    X = np.hstack([DIGITS[y] ^ (draws.random((n, 7)) < 0.1), draws.integers(0, 2, (n, 17))])
    for quarter in range(1, 4):
        places, rows = np.arange(24), quarters(n) == quarter
        for j in range(2 * quarter):
            places[[j, 7 + j]] = 7 + j, j
        X[rows] = X[rows][:, places]
    return Rows(X.astype(float), y.astype(float), regression=False)


def of_the_world(name: str) -> Callable[[int], Rows]:
    return lambda n: rows_of(name).first(n)


STREAMS: dict[str, Callable[[int], Rows]] = {
    "sea": sea,
    "hyperplane": hyperplane,
    "led": led,
    "elec2": of_the_world("elec2 in time"),
    "covtype": of_the_world("covtype in time"),
    "kddcup99": of_the_world("kddcup99 in time"),
    "airlines": of_the_world("airlines in time"),
}
