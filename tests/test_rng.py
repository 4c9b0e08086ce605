"""Random numbers: the published sequence, the same numbers however they are asked for, and what they are used for."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

import kernelstream
from kernelstream.numerics import normal, rng
from kernelstream.numerics.normal import normal_quantiles

# splitmix64 with seed 1234567, as published with the reference implementation (Vigna; also Rosetta Code).
PUBLISHED = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]

# The word that mixes to all ones, found by running the finaliser backwards: the largest number there is.
GOLDEN = 0x9E3779B97F4A7C15


def unmix(word):
    def unshift(value, by):
        found = value
        for _ in range(64 // by):
            found = value ^ (found >> by)
        return found

    word = unshift(word, 31) * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    word = unshift(word, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    return unshift(word, 30)


def key_whose_first_word_is(word):
    key = np.uint64((unmix(word) - GOLDEN) % 2**64)
    assert rng.bits(key, 0) == word
    return key


def test_the_published_sequence():
    assert [int(rng.bits(np.uint64(1234567), n)) for n in range(5)] == PUBLISHED
    assert rng.bits(np.uint64(1234567), np.arange(5)).tolist() == PUBLISHED


def test_scalars_and_arrays_give_the_same_numbers():
    keys = np.array([rng.key(3, label) for label in range(4)], np.uint64)
    together = rng.uniform(keys[:, None], np.arange(6)[None, :])
    alone = [[float(rng.uniform(key, n)) for n in range(6)] for key in keys]
    assert together.tolist() == alone


def test_the_sequential_generator_gives_the_numbered_sequence():
    state = rng.generator(8, 1)
    drawn = [rng.draw(state) for _ in range(50)]
    assert drawn == rng.uniform(rng.key(8, 1), np.arange(50)).tolist()
    assert state.tolist() == [int(rng.key(8, 1)), 50]


def test_compiled_equals_interpreted():
    draws = "s = rng.generator(8, 1); print([rng.draw(s).hex() for _ in range(20)])"
    script = f"from kernelstream.numerics import rng; {draws}"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(kernelstream.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env=environment, check=True, capture_output=True, text=True
    )
    state = rng.generator(8, 1)
    assert done.stdout.strip() == str([rng.draw(state).hex() for _ in range(20)])


def test_the_ends_are_excluded():
    """All bits set gave 1 once: the index n of draw_below(n) and infinite frequencies."""
    top, bottom = key_whose_first_word_is(2**64 - 1), key_whose_first_word_is(0)
    assert 0.0 < rng.uniform(bottom, 0) < 2.0**-52
    assert 1.0 - 2.0**-52 < rng.uniform(top, 0) < 1.0
    assert rng.draw(np.array([top, 0], np.uint64)) == rng.uniform(top, 0)
    for n in (1, 2, 1000, 2**31):
        assert rng.draw_below(np.array([top, 0], np.uint64), n) == n - 1
        assert rng.draw_below(np.array([bottom, 0], np.uint64), n) == 0


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_draw_below_stays_in_range_and_reaches_every_number(n):
    state = rng.generator(2)
    drawn = np.array([rng.draw_below(state, n) for _ in range(20 * n)])
    assert drawn.min() == 0
    assert drawn.max() == n - 1
    assert len(np.unique(drawn)) == n


def test_numbers_are_uniform_and_independent():
    """Counts in 100 bins, and pairs of neighbours in a 10 x 10 grid: chi-squared with 99 degrees is 99 +- 14."""
    for numbers in (
        rng.uniform(rng.key(5), np.arange(200_000)),
        rng.uniform([rng.key(5, i) for i in range(20_000)], 0),
    ):
        counts = np.bincount((numbers * 100).astype(int), minlength=100)
        expected = len(numbers) / 100
        assert ((counts - expected) ** 2 / expected).sum() < 99 + 5 * 14
        cells = (numbers[:-1:2] * 10).astype(int) * 10 + (numbers[1::2] * 10).astype(int)
        counts, expected = np.bincount(cells, minlength=100), len(cells) / 100
        assert ((counts - expected) ** 2 / expected).sum() < 99 + 5 * 14


def test_keys_differ_by_seed_and_by_every_label():
    paths = [(0,), (1,), (-1,), (0, 0), (0, 1), (1, 0), (0, 0, 0), (0, 0, 1), (2**64 - 2,), (2**40,)]
    assert len({int(rng.key(*path)) for path in paths}) == len(paths)
    assert rng.key(-1) == rng.key(2**64 - 1)  # seeds count modulo 2^64


def test_quantiles_of_the_normal_distribution_are_scipys_bit_for_bit_however_many():
    rng_of_ours = np.random.default_rng(0)
    border = normal._TAIL
    chances = np.concatenate(
        [
            rng_of_ours.random(90_000),
            10.0 ** -np.linspace(0.1, 300, 9_000),
            1.0 - 10.0 ** -np.linspace(0.3, 15.5, 9_000),
            [0.5, border, 1.0 - border, np.nextafter(border, 1.0), np.nextafter(1.0 - border, 0.0), 5e-324],
        ]
    )
    assert len(chances) <= normal._FEW
    assert np.array_equal(normal_quantiles(chances), ndtri(chances))
    many = rng_of_ours.random((2, normal._FEW))
    assert np.array_equal(normal_quantiles(many)[:, :100], normal_quantiles(many[:, :100]))
