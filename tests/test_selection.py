"""The k largest of many values are those that sorting finds, in the order of their places; of equal ones the first."""

import numpy as np
import pytest

from kernelstream.numerics.compile import compiled
from kernelstream.numerics.selection import find_largest, room_to_select


@compiled
def count_of(select, n, most):
    return find_largest(select, n, most)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_are_those_that_sorting_finds(dtype):
    rng = np.random.default_rng(0)
    select = room_to_select(300, dtype)
    for turn in range(400):
        n, most = int(rng.integers(1, 301)), int(rng.integers(1, 40))
        keys = rng.normal(size=n).astype(dtype)
        if turn % 3 == 0:
            keys = np.round(keys, 1)  # many are equal
        keys[rng.random(n) < (0.0, 0.3, 0.95)[turn % 4 % 3]] = -np.inf  # not to be chosen
        select.keys[:n] = keys
        count = count_of(select, n, most)
        ranked = np.argsort(-keys, kind="stable")[: int(np.isfinite(keys).sum())][:most]
        assert count == len(ranked)
        assert select.search.places[:count].tolist() == np.sort(ranked).tolist()


def test_equal_values_are_taken_from_the_first_on():
    select = room_to_select(64, "float32")
    select.keys[:] = 2.0
    assert count_of(select, 64, 5) == 5 and select.search.places[:5].tolist() == [0, 1, 2, 3, 4]
