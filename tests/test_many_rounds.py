"""float32 models of more rounds than its sums can count go on learning as their float64 twins do."""

import math

import numpy as np
import pytest

from kernelstream import ALGORITHMS, Binary, Learner, Regression, make
from kernelstream.algorithms import UFOMKL
from kernelstream.algorithms._descent import Descent
from kernelstream.algorithms._risk import RegularisedRisk
from kernelstream.engine.state import leaves
from kernelstream.kernels import Gaussian
from kernelstream.schedules import InverseSqrt

FIRST = 256  # rows that are learned, and counted as so many: what is kept of each of few points is beyond 2^24 then
ROUNDS = 2**36 + 3
WEIGHT = 2.0**25  # of the first rows, where rows add up

# Leaves that count rounds; those that are as long as the rounds make them, and their squares.
COUNTS = ("t", "due", "heard", "mistakes", "seen")
GROW, GROW_TWICE = ("f.coef", "weights"), ("norm", "norms", "ranks", "degradation")

# Where rows add up, what so many tell is what a few of a large weight do.
ADD = ("auto", "ridge", "stack", "krls", "krls-t", "pkawv", "pros-n-kons", "sop", "arow", "scw", "density", "opauc")


def learner_of(name, dtype):
    spec = ALGORITHMS[name]
    parameters = {"kernel": Gaussian(0.5)} | ({"budget": 8} if hasattr(spec, "budget") else {})
    if isinstance(spec, Descent):
        parameters["learning_rate"] = InverseSqrt(0.5)
    return Learner(make(name, **parameters), Binary([0, 1]) if "binary" in spec.tasks else Regression(), dtype=dtype)


def grown(learner):
    """By how much what a learner keeps is longer after so many rounds, for the same function."""
    spec, state = learner.settled, learner._state
    if isinstance(spec, RegularisedRisk):
        return spec.unit(state._replace(t=np.array(ROUNDS))) / spec.unit(state)
    return spec.tau(ROUNDS, learner.dtype) / spec.tau(state.t, learner.dtype) if isinstance(spec, UFOMKL) else 1.0


def age(learner):
    """As a run of so many rounds leaves it, with the function that it has."""
    longer = grown(learner)
    for name, array in leaves(learner._state).items():
        last = name.rpartition(".")[2]
        if last in COUNTS and array.dtype.kind == "i" and learner.name != "auto":  # whose t says what is kept of rows
            array[...] += ROUNDS - FIRST
        elif name in GROW:
            array[...] *= longer
        elif last in GROW_TWICE:
            array[...] *= longer**2


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_float32_model_goes_on_learning_after_2_to_the_24_rounds(name):
    """As far as in float64, on rows that say the opposite; further, where rounds are halved sooner."""
    draws = np.random.default_rng(0)
    X = draws.normal(size=(12, 2))[draws.integers(12, size=2 * FIRST)]  # what is new is added to what is there
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    weights = np.full(FIRST, WEIGHT / FIRST) if name in ADD else None
    moved = {}
    for dtype in ("float32", "float64"):
        learner = learner_of(name, dtype)
        learner.learn(X[:FIRST], y[:FIRST], weights)
        age(learner)
        before = learner.scores(X).astype(np.float64)
        learner.learn(X[FIRST:], 1 - y[FIRST:])
        moved[dtype] = np.linalg.norm(learner.scores(X) - before)
    assert math.isfinite(moved["float32"])
    assert moved["float32"] >= 0.5 * moved["float64"] > 0.0
