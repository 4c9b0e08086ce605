"""Calls that cost what a call in C costs: the values of compiled code, the values of a dictionary, and no reference
more or less.
"""

import collections
import gc
import sys
import time
import weakref
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from kernelstream import Binary, Learner
from kernelstream.engine.single import Single
from kernelstream.numerics import calls
from kernelstream.numerics.calls import NEW_ROW, NO_ROW, SAME_ROW, bound, reader
from kernelstream.numerics.compile import outermost

NAMES = ("a", 2, ("c", "d"))


class Numbers(NamedTuple):
    first: np.ndarray
    factor: float
    count: int


class Nested(NamedTuple):
    numbers: Numbers
    matrix: np.ndarray
    total: np.ndarray


@outermost
def add_up(nested, shift, power):
    for i in range(nested.matrix.shape[0]):
        for j in range(nested.matrix.shape[1]):
            nested.total[()] += nested.matrix[i, j] * nested.numbers.factor
    for j in range(nested.numbers.first.shape[0]):
        nested.total[()] += nested.numbers.first[j] * nested.numbers.count + shift
    return int(nested.total[()]) + power


def test_a_bound_call_sees_arrays_as_they_are_and_numbers_as_they_were():
    matrix, total = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros(())
    first = np.arange(3, dtype=np.int64)
    arguments = Nested(Numbers(first, 2.0, 10), matrix, total), 0.5, 7
    assert add_up(*arguments) == 30 + 30 + 1 + 7
    call = bound(add_up, *arguments)
    total[()] = 0.0
    assert call() == 68 and total == 61.5
    total[()], matrix[1, 2] = 0.0, 105.0
    assert call() == 268
    again = bound(add_up, arguments[0]._replace(total=np.zeros(())), -0.5, 7)
    assert again() == 265 and total == 261.5
    del arguments, matrix, first
    gc.collect()
    assert call() == 2 * 261.5 + 7


@outermost
def chosen(numbers, sure):
    return numbers[1] if sure else numbers[0]


def test_arguments_of_other_kinds_are_handed_over_as_ever():
    arguments = np.array([3, 4]), True
    assert chosen(*arguments) == bound(chosen, *arguments)() == 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_reader_writes_what_numpy_would(dtype):
    row = np.zeros(3, dtype)
    read = reader(NAMES, row)
    values = [0.1, -1.0, 1e-300, 1e15, -1e15, 1, True, -1, 3**20, np.float32(0.1), np.float64(-1.0), np.int8(-1)]
    values += [np.bool_(True), Decimal("0.1"), Fraction(1, 3), np.array(0.25), 5e-324, 1e-40, 16777217.0]
    for value in values:
        row[:] = 0.0
        assert read({NAMES[2]: value, "a": 1.5, 2: -2.5}) == NEW_ROW
        assert row.tobytes() == np.array([1.5, -2.5, float(value)], dtype).tobytes()
        assert read({"a": 1.5, 2: -2.5, NAMES[2]: value}) == SAME_ROW
    assert read(dict.fromkeys(NAMES, 0.0)) == NEW_ROW
    assert read(dict.fromkeys(NAMES, -0.0)) == NEW_ROW and np.signbit(row).all()
    assert read(collections.OrderedDict.fromkeys(NAMES, 1.0)) == NEW_ROW


class Stubborn:
    def __float__(self):
        raise RuntimeError("no number")


class Uneven:
    def __hash__(self):
        return hash("a")

    def __eq__(self, other):
        raise RuntimeError("not to be compared")


def test_a_reader_takes_nothing_else():
    row = np.zeros(3)
    read = reader(NAMES, row)
    good = dict.fromkeys(NAMES, 1.0)
    for value in (float("nan"), float("inf"), -float("inf"), 1.1e15, -1.1e15, 10**400, "1", None, 1j, [1], Stubborn()):
        assert read({**good, 2: value}) == NO_ROW
    counted = collections.defaultdict(float, {"a": 1.0, 2: 1.0, "x": 1.0})
    others = ({}, {"a": 1.0, 2: 1.0}, {**good, "x": 1.0}, {"a": 1.0, 2: 1.0, "x": 1.0}, counted)
    for x in (*others, {Uneven(): 1.0, 2: 1.0, "x": 1.0}, [1.0, 2.0, 3.0], None, 3, "abc"):
        assert read(x) == NO_ROW
    assert len(counted) == 3
    assert read(good) == NEW_ROW and row.tolist() == [1.0, 1.0, 1.0]


def test_no_reference_is_lost_or_kept():
    row, value = np.zeros(2), 12345.678
    names = [f"name {i}" for i in range(2)]
    read = reader(names, row)
    x, bad = dict.fromkeys(names, value), {names[0]: value, names[1]: "word"}
    before = [sys.getrefcount(one) for one in (*names, value, row, x, bad)]
    for _ in range(1000):
        read(x)
        read(bad)
        read(value)
    assert [sys.getrefcount(one) for one in (*names, value, row, x, bad)] == before
    alive = weakref.ref(row)
    del row
    assert alive() is not None
    del read
    assert alive() is None


def test_the_calls_of_a_large_state_are_made_at_once(monkeypatch):
    learner = Learner("auto", Binary([-1, 1]), threads=1)
    X = np.random.default_rng(0).normal(size=(40, 3))
    learner.learn(X, np.where(X[:, 0] > 0, 1, -1))
    learner.learn_one(X[0], 1)  # all is compiled
    monkeypatch.setattr(calls, "_methods", {})
    began = time.process_time()
    Single(learner._runner)
    assert time.process_time() - began < 0.5  # optimised they take two seconds
