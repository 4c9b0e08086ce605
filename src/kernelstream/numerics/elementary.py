"""exp, and sin with cos, as branch-free polynomials that LLVM turns into SIMD (libm is one value at a time).

Each reduces its argument to a short interval, by multiples of ln 2 or pi/2 taken off in parts (Cody and Waite), and
sums the Taylor series there; the first term left out is below half a unit in the last place. The parts have enough
trailing zero bits for their multiples to be exact.
"""

import math

import numpy as np

from .compile import by_precision

f4 = np.float32
f8 = np.float64
i4 = np.int32
i8 = np.int64

_LOG2E = 1.0 / math.log(2.0)
_LN2_A, _LN2_B = 0.693145751953125, 1.42860682030941723212e-6  # ln 2 = A + B; A has 20 bits
_LN2_A4, _LN2_B4 = f4(0.693359375), f4(-2.12194440e-4)  # the same in float32; A has 9 bits


def _exp32(x):
    x = min(max(x, f4(-104.0)), f4(89.0))  # beyond, the result is 0 or inf whatever x is
    k = np.floor(x * f4(_LOG2E) + f4(0.5))
    r = x - k * _LN2_A4 - k * _LN2_B4
    p = f4(1 / 5040)
    p = p * r + f4(1 / 720)
    p = p * r + f4(1 / 120)
    p = p * r + f4(1 / 24)
    p = p * r + f4(1 / 6)
    p = p * r + f4(0.5)
    p = p * r * r + r + f4(1.0)
    # 2^k in two factors, so that a denormal result and the largest finite one are reached.
    whole = i4(k)
    half = whole >> i4(1)
    low = i4((half + i4(127)) << i4(23)).view(f4)
    high = i4((whole - half + i4(127)) << i4(23)).view(f4)
    return p * low * high


def _exp64(x):
    x = min(max(x, -746.0), 710.0)
    k = np.floor(x * _LOG2E + 0.5)
    r = x - k * _LN2_A - k * _LN2_B
    p = 1 / 6227020800
    p = p * r + 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    whole = i8(k)
    half = whole >> i8(1)
    low = i8((half + i8(1023)) << i8(52)).view(f8)
    high = i8((whole - half + i8(1023)) << i8(52)).view(f8)
    return p * low * high


# pi/2 = A + B + C. float32: 11 + 13 bits + the rest; float64: 33 + 33 bits + the rest.
_PIO2_A4, _PIO2_B4, _PIO2_C4 = f4(1.5703125), f4(4.837512969970703125e-4), f4(7.54978995489188216e-8)
_PIO2_A, _PIO2_B, _PIO2_C = 1.57079632673412561417e0, 6.07710050630396597660e-11, 2.02226624879595063154e-21

# Up to here the multiple of pi/2 that is taken off is exact; libm answers for what lies beyond.
_REACH4 = f4(8192.0)
_REACH = f8(1e6)


def _sincos32(x, sines, cosines):
    beyond = i4(0)
    for j in range(x.shape[0]):
        beyond += i4(abs(x[j]) > _REACH4)
        t = np.floor(x[j] * f4(2 / math.pi) + f4(0.5))
        turns = i4(t)
        r = x[j] - t * _PIO2_A4 - t * _PIO2_B4 - t * _PIO2_C4
        q = r * r
        s = f4(1 / 362880)
        s = s * q + f4(-1 / 5040)
        s = s * q + f4(1 / 120)
        s = s * q + f4(-1 / 6)
        s = s * q * r + r
        c = f4(1 / 40320)
        c = c * q + f4(-1 / 720)
        c = c * q + f4(1 / 24)
        c = c * q + f4(-0.5)
        c = c * q + f4(1.0)
        swap = turns & i4(1)
        sine = c if swap else s
        cosine = s if swap else c
        sines[j] = -sine if turns & i4(2) else sine
        cosines[j] = -cosine if (turns + i4(1)) & i4(2) else cosine
    if beyond > 0:
        for j in range(x.shape[0]):
            if abs(x[j]) > _REACH4:
                sines[j] = f4(math.sin(f8(x[j])))
                cosines[j] = f4(math.cos(f8(x[j])))


def _sincos64(x, sines, cosines):
    beyond = i8(0)
    for j in range(x.shape[0]):
        beyond += i8(abs(x[j]) > _REACH)
        t = np.floor(x[j] * (2 / math.pi) + 0.5)
        turns = i8(t)
        r = x[j] - t * _PIO2_A - t * _PIO2_B - t * _PIO2_C
        q = r * r
        s = 1 / 355687428096000
        s = s * q + -1 / 1307674368000
        s = s * q + 1 / 6227020800
        s = s * q + -1 / 39916800
        s = s * q + 1 / 362880
        s = s * q + -1 / 5040
        s = s * q + 1 / 120
        s = s * q + -1 / 6
        s = s * q * r + r
        c = 1 / 20922789888000
        c = c * q + -1 / 87178291200
        c = c * q + 1 / 479001600
        c = c * q + -1 / 3628800
        c = c * q + 1 / 40320
        c = c * q + -1 / 720
        c = c * q + 1 / 24
        c = c * q + -0.5
        c = c * q + 1.0
        swap = turns & i8(1)
        sine = c if swap else s
        cosine = s if swap else c
        sines[j] = -sine if turns & i8(2) else sine
        cosines[j] = -cosine if (turns + i8(1)) & i8(2) else cosine
    if beyond > 0:
        for j in range(x.shape[0]):
            if abs(x[j]) > _REACH:
                sines[j] = math.sin(x[j])
                cosines[j] = math.cos(x[j])


exp = by_precision(_exp32, _exp64)
exp.__doc__ = "e to the power of a real, in its own precision."

sincos = by_precision(_sincos32, _sincos64)
sincos.__doc__ = "Write sin(x) into `sines` and cos(x) into `cosines`: three arrays of one length."
