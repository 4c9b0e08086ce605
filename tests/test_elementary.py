"""exp, sin and cos against mpmath, in units in the last place, over their whole range.

The bounds are what was measured (exp 1.05, sin and cos 0.73) with a little room; libm is no closer than about 0.55.
"""

import os
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest

import kernelstream
from kernelstream.numerics import elementary
from kernelstream.numerics.compile import compiled

EXP_ULP = 1.25  # units in the last place of the result
SINCOS_EPS = 0.8  # units in the last place of 1 (machine epsilon), absolute
INTERPRETED_ULP = 2.0  # without fused multiply-adds roundings fall differently

DTYPES = [np.float32, np.float64]
OVERFLOW = {np.float32: 88.72283172607422, np.float64: 709.782712893384}  # the largest argument with a finite result
UNDERFLOW = {np.float32: -103.97, np.float64: -745.13}  # the smallest with a result that is not 0, nearly
REACH = {np.float32: 8192.0, np.float64: 1e6}  # where sincos hands over to libm

mpmath.mp.prec = 240  # arguments of 1e30 need 100 bits for the reduction alone


@compiled
def exps(x, out):
    for j in range(x.shape[0]):
        out[j] = elementary.exp(x[j])


@compiled
def sines_and_cosines(x, sines, cosines):
    elementary.sincos(x, sines, cosines)


def exp(x):
    out = np.zeros_like(x)
    exps(x, out)
    return out


def sincos(x):
    sines, cosines = np.zeros_like(x), np.zeros_like(x)
    sines_and_cosines(x, sines, cosines)
    return sines, cosines


def exact(function, x):
    return [function(mpmath.mpf(float(v))) for v in x]


def ulps(got, expected):
    """Errors in units in the last place of the exact results."""
    limits = np.finfo(got.dtype)
    smallest = mpmath.mpf(float(limits.smallest_subnormal))
    found = []
    for g, e in zip(got, expected, strict=True):
        unit = max(mpmath.ldexp(1, int(mpmath.floor(mpmath.log(abs(e), 2))) - limits.nmant), smallest)
        found.append(float(abs(mpmath.mpf(float(g)) - e) / unit))
    return np.array(found)


def worst(got, expected):
    return max(float(abs(mpmath.mpf(float(g)) - e)) for g, e in zip(got, expected, strict=True))


def exp_arguments(dtype):
    rng = np.random.default_rng(0)
    lo, hi = UNDERFLOW[dtype], OVERFLOW[dtype]
    halves = (np.arange(int(lo / 0.7), int(hi / 0.7)) + 0.5) * np.log(2.0)  # where the multiple of ln 2 changes
    around = np.concatenate([np.nextafter(halves.astype(dtype), dtype(s)) for s in (-np.inf, np.inf)])
    tiny = 10.0 ** rng.uniform(-40, -1, 300) * rng.choice([-1, 1], 300)
    x = np.concatenate([rng.uniform(lo, hi, 6000), rng.uniform(-2, 2, 3000), halves, around, tiny, [lo, hi]])
    return np.clip(x.astype(dtype), dtype(lo), dtype(hi))


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_is_within_its_bound_over_the_whole_range(dtype):
    x = exp_arguments(dtype)
    assert ulps(exp(x), exact(mpmath.exp, x)).max() <= EXP_ULP


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_reaches_denormal_results(dtype):
    limits = np.finfo(dtype)
    lo, hi = UNDERFLOW[dtype], float(np.log(limits.tiny))
    x = np.linspace(lo, hi, 500).astype(dtype)
    y = exp(x)
    assert (y > 0).all()
    assert (y[:-1] < limits.tiny).all()
    assert ulps(y, exact(mpmath.exp, x)).max() <= EXP_ULP


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_at_the_edges(dtype):
    largest = dtype(OVERFLOW[dtype])
    cases = [
        (0.0, 1.0),
        (-0.0, 1.0),
        (np.inf, np.inf),
        (-np.inf, 0.0),
        (1e30, np.inf),
        (-1e30, 0.0),
        (np.nextafter(largest, dtype(np.inf)), np.inf),
        (UNDERFLOW[dtype] - 1.0, 0.0),
        (np.finfo(dtype).smallest_subnormal, 1.0),
        (-np.finfo(dtype).tiny, 1.0),
    ]
    x, expected = np.array(cases, dtype).T.copy()
    assert np.array_equal(exp(x), expected)
    assert np.isfinite(exp(np.array([largest]))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_of_nan_is_nan(dtype):
    assert np.isnan(exp(np.array([np.nan, 1.0], dtype))).tolist() == [True, False]


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_never_falls(dtype):
    """Sampled more coarsely than its error: a step of 4 units cannot be undone by an error of 1.25."""
    x = np.sort(exp_arguments(dtype))
    x = x[np.concatenate([[True], np.diff(x) > 4 * np.finfo(dtype).eps * np.abs(x[1:])])]
    assert (np.diff(exp(x)) >= 0).all()


def sincos_arguments(dtype):
    rng = np.random.default_rng(1)
    reach = REACH[dtype]
    quarters = rng.integers(-int(reach / 1.6), int(reach / 1.6), 1000) * (np.pi / 2)
    return {
        "around 0": rng.uniform(-8, 8, 4000),
        "up to the reach": rng.uniform(-reach, reach, 4000),
        "at the reach": np.nextafter(np.array([reach, -reach], dtype), dtype(0)),
        "beyond the reach": np.concatenate([reach * rng.uniform(1, 50, 1000), 10 ** rng.uniform(0, 30, 1000), [1e30]]),
        "near multiples of pi/2": np.concatenate([np.arange(-40, 41) * np.pi / 2, quarters]),
        "near odd multiples of pi/4": (2 * np.arange(-200, 200) + 1) * np.pi / 4,
        "tiny and denormal": 10.0 ** rng.uniform(np.log10(float(np.finfo(dtype).smallest_subnormal)) + 1, -2, 500),
    }


@pytest.mark.parametrize("where", sincos_arguments(np.float64))
@pytest.mark.parametrize("dtype", DTYPES)
def test_sincos_is_within_its_bound(dtype, where):
    x = sincos_arguments(dtype)[where].astype(dtype)
    sines, cosines = sincos(x)
    eps = float(np.finfo(dtype).eps)
    assert worst(sines, exact(mpmath.sin, x)) <= SINCOS_EPS * eps
    assert worst(cosines, exact(mpmath.cos, x)) <= SINCOS_EPS * eps


@pytest.mark.parametrize("dtype", DTYPES)
def test_sine_of_a_tiny_number_is_that_number(dtype):
    limits = np.finfo(dtype)
    x = np.array([0.0, limits.smallest_subnormal, limits.tiny, -limits.tiny, 1e-10, -1e-10], dtype)
    sines, cosines = sincos(x)
    assert np.array_equal(sines, x)
    assert np.array_equal(cosines, np.ones_like(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_of_sine_and_cosine_sum_to_one(dtype):
    x = np.random.default_rng(2).normal(scale=100.0, size=5000).astype(dtype)
    sines, cosines = (part.astype(np.float64) for part in sincos(x))
    assert np.abs(sines**2 + cosines**2 - 1.0).max() <= 4 * SINCOS_EPS * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
def test_sincos_of_what_has_no_angle_is_nan(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 1.0], dtype)
    for part in sincos(x):
        assert np.isnan(part).tolist() == [True, True, True, False]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [1, 3, 8, 17, 64, 100])
def test_a_value_does_not_depend_on_the_length_of_its_row(dtype, length):
    """SIMD lanes and the scalar remainder of a loop give the same bits."""
    x = np.random.default_rng(3).normal(scale=30.0, size=100).astype(dtype)
    whole, part = sincos(x), sincos(x[:length].copy())
    assert np.array_equal(whole[0][:length], part[0])
    assert np.array_equal(whole[1][:length], part[1])
    assert np.array_equal(exp(x)[:length], exp(x[:length].copy()))


INTERPRETED = """
import sys
import numpy as np
from kernelstream.numerics import elementary
data = np.load(sys.argv[1])
out = {}
for name in ("float32", "float64"):
    x = data["exp_" + name]
    out["exp_" + name] = np.array([elementary.exp(v) for v in x])
    x = data["sincos_" + name]
    sines, cosines = np.zeros_like(x), np.zeros_like(x)
    elementary.sincos(x, sines, cosines)
    out["sin_" + name], out["cos_" + name] = sines, cosines
np.savez(sys.argv[2], **out)
"""


def test_compiled_equals_interpreted_to_rounding(tmp_path):
    given = {}
    for dtype in DTYPES:
        given[f"exp_{dtype.__name__}"] = exp_arguments(dtype)[::10]
        inside = [v for where, v in sincos_arguments(dtype).items() if "beyond" not in where]
        given[f"sincos_{dtype.__name__}"] = np.concatenate(inside).astype(dtype)[::10]
    np.savez(tmp_path / "given.npz", **given)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(kernelstream.__file__).parents[1])}
    command = [sys.executable, "-W", "error", "-c", INTERPRETED, tmp_path / "given.npz", tmp_path / "out.npz"]
    subprocess.run(command, env=environment, check=True)
    interpreted = np.load(tmp_path / "out.npz")
    for dtype in DTYPES:
        name, eps = dtype.__name__, np.finfo(dtype).eps
        ours = exp(given[f"exp_{name}"])
        unit = np.spacing(np.abs(ours))
        assert interpreted[f"exp_{name}"].dtype == dtype
        assert (np.abs(interpreted[f"exp_{name}"] - ours) <= INTERPRETED_ULP * unit).all()
        for part, values in zip(("sin", "cos"), sincos(given[f"sincos_{name}"]), strict=True):
            assert np.abs(interpreted[f"{part}_{name}"] - values).max() <= INTERPRETED_ULP * eps
