"""One row through `auto`: lifted, evaluated, learned by all parts."""

import math
from typing import TYPE_CHECKING

import numpy as np

from ..engine import evaluate, lift, remember, step
from ..losses import slope
from ..numerics.boxes import find_boxes, learn_boxes, sum_boxes
from ..numerics.cells import find_cells
from ..numerics.compile import Pointer, call_for_effect, inlined
from ..numerics.elementary import sincos
from ..numerics.link import learn_link
from ..numerics.parts import clipped, learn_parts, say, squash
from ..numerics.second_order import wait
from ..numerics.settling import FIRST
from ..numerics.shifts import add_loss
from ..numerics.shown import keep_said, take_said
from ..numerics.stack import learn_stack, stack_weights
from ..numerics.waking import watch
from ._anew import FARTHEST, N_GIVEN, SEVERAL, UNKNOWN, VALUES
from ._auto_state import THINNED, AutoRecord

if TYPE_CHECKING:
    pass


def _sincos_rows(projected, n, z):
    half = projected.shape[1]
    c = z.dtype.type(1.0 / math.sqrt(half))
    for i in range(n):
        sincos(projected[i], z[i, :half], z[i, half:])
        for j in range(2 * half):
            z[i, j] *= c


SINCOS = Pointer(_sincos_rows, "mim", value=False)


@inlined
def spread_out(indices, values, row):
    """The row with all of its features; those beyond its length are added to the others."""
    d = row.shape[0]
    for j in range(d):
        row[j] = 0
    for p in range(values.shape[0]):
        j = indices[p]
        row[j % d if j >= d else j] += values[p]


@lift.register(AutoRecord)
def _(record, state, scratch, block, start, stop):
    columns, d, n = state.columns, state.map.shape[0], stop - start
    for i in range(n):
        lo, hi = block.indptr[start + i], block.indptr[start + i + 1]
        row = scratch.values[i * d : (i + 1) * d]
        spread_out(block.indices if block.shared == 1 else block.indices[lo:hi], block.values[lo:hi], row)
        if state.boxes.cells.shape[0] > 0:
            find_boxes(state.boxes, scratch.boxing, row, scratch.boxed[i])
        for j in range(d):
            v, heavy = np.float64(row[j]), columns.heavy[j]
            tamed = math.copysign(math.log1p(abs(v) / heavy), v) if heavy > 0.0 else v
            row[j] = (tamed - columns.center[j]) * columns.scale[j]
    rows = scratch.indptr, scratch.indices, scratch.values
    call_for_effect(record.multiply, 1, rows[0], rows[1], rows[2], 0, n, state.map, scratch.projected)
    call_for_effect(record.sincos, scratch.projected, n, scratch.z)
    call_for_effect(record.multiply, 1, rows[0], rows[1], rows[2], 0, n, state.recent.map, scratch.plainly)
    call_for_effect(record.sincos, scratch.plainly, n, scratch.plain)
    call_for_effect(record.products, scratch.z, n, state.weights, scratch.ridge)
    for q in range(scratch.recent.shape[0]):
        call_for_effect(record.products, scratch.plain, n, state.recent.weights[q], scratch.recent[q])
    cells, inverse = state.parts.cells, record.steps.inverse
    if cells.shape[0] > 0:
        for i in range(n):
            find_cells(scratch.projected[i], scratch.finding, inverse, cells.shape[1], scratch.codes[i])


@evaluate.register(AutoRecord)
def _(record, state, scratch, x, scores):
    e, heard, w, f, ridge, recent = scratch.e, scratch.heard, scratch.w, scratch.f, scratch.ridge, scratch.recent
    if state.t[()] < FIRST:
        for k in range(scores.shape[0]):
            scores[k] = state.mean[k]
        return
    for k in range(e.shape[1]):
        e[0, k] = clipped(record.steps, np.float64(ridge[x.place, k]))
        for q in range(recent.shape[0]):
            e[1 + q, k] = clipped(record.steps, np.float64(recent[q, x.place, k]))
    say(record.steps, N_GIVEN, state.parts, scratch.z[x.place], scratch.codes[x.place], e)
    sum_boxes(state.boxes, scratch.boxed[x.place], e[e.shape[0] - 1])
    stack_weights(state.parts.A, state.parts.b, scratch.factor, w)
    for k in range(scores.shape[0]):
        f[k] = 0.0
        for i in range(w.shape[0]):
            heard[i, k] = squash(record.steps, N_GIVEN, i, e[i, k])
            f[k] += w[i] * heard[i, k]
        scores[k] = f[k]
        if record.task == VALUES:
            scores[k] = min(max(state.scale[0] + state.scale[1] * f[k], state.scale[2]), state.scale[3])


@remember.register(AutoRecord)
def _(record, state, scratch, x):
    if state.t[()] >= FIRST:
        keep_said(state.shown, x, scratch.heard)


@inlined
def stands_for(t):
    """How many rows row t stands for in the sums: 1; or 2 or 4 where it is chosen, by a hash, and 0 where not."""
    share = 1 if t < THINNED[0] else 2 if t < THINNED[1] else 4
    word = ((t // share) & 0xFFFF) * 40503
    return share if t % share == (word >> 9) & (share - 1) else 0


@inlined
def learn_noise(state, said, error, weight):
    """How large errors are, and their squares over what the ridge said of them."""
    noise = state.noise
    rate = min(weight, 1.0) * max(0.001, 1.0 / (state.t[()] + 1))
    expected = max(np.float64(said), 0.1 * noise[0] + 1e-12)
    noise[1] += rate * (min((error / expected) ** 2, 100.0) - noise[1])
    noise[0] += rate * (error - noise[0])


@inlined
def learn_lifted(record, state, scratch, x, y, weight):
    """All parts learn a row that was lifted and evaluated."""
    z, codes, e, f, w = scratch.z[x.place], scratch.codes[x.place], scratch.heard, scratch.f, scratch.w
    parts, t, K, last, left, kept = state.parts, state.t[()], e.shape[1], e.shape[0] - 1, scratch.left, state.kept
    place = t - state.shift.row[()]
    learn_parts(record.steps, N_GIVEN, parts, z, codes, scratch.e, y[:K], weight)
    for k in range(K):
        left[k] = y[k] - e[last, k]
    if state.shown.n[()] > 0:
        take_said(state.shown, x, e)
        for k in range(K):
            f[k] = 0.0
            for i in range(w.shape[0]):
                f[k] += w[i] * e[i, k]
    for k in range(K):
        rest = f[k] - w[last] * e[last, k]
        left[k] -= rest
        if place < kept.rest.shape[0]:
            kept.rest[place, k] = state.scale[0] + state.scale[1] * rest if record.task == VALUES else rest
    learn_boxes(state.boxes, scratch.boxing.steps, scratch.boxed[x.place], left, weight)
    learn_stack(parts.A, parts.b, e, y[:K], weight)
    if record.task == VALUES:
        y[1] = abs(y[0] - f[0])
        learn_noise(state, scratch.ridge[x.place, 1], y[1], weight)
    else:
        right = 0
        for k in range(K):
            if y[k] > 0:
                right = k if K > 1 else 1
        learn_link(state.link, f, right, weight)
    wait(state.recent, scratch.plain[x.place], y[:K], weight)
    if stands_for(t) > 0:
        wait(state.sums, z, y, weight * stands_for(t))


@step.register(AutoRecord)
def _(record, state, scratch, x, target, weight, scores):
    t, y, kept, scale = state.t[()], scratch.y, state.kept, state.scale
    if record.task == SEVERAL:
        for k in range(y.shape[0]):
            y[k] = 1.0 if k == target else -1.0
    else:
        if scale[1] == UNKNOWN and target != scale[0] and weight > 0.0:
            scale[1] = abs(target - scale[0])  # no part has said anything but 0 so far
        y[0] = (target - scale[0]) / scale[1]
        if t >= FIRST:
            y[0] = min(max(y[0], -FARTHEST), FARTHEST)
    place, loss = t - state.shift.row[()], slope(record.loss, target, scores, scratch.common.slope)
    if place < kept.x.shape[0]:
        spread_out(x.indices, x.values, kept.x[place])
        kept.targets[place], kept.weights[place] = target, weight
        kept.errors[place] = loss if record.task != VALUES else abs(target - scores[0]) if t > 0 else 0.0
    add_loss(state.shift, weight, loss)
    if record.task == VALUES:
        scale[2], scale[3] = (target, target) if t == 0 else (min(scale[2], target), max(scale[3], target))
    if t >= FIRST:
        learn_lifted(record, state, scratch, x, y, weight)
    else:
        for k in range(state.mean.shape[0]):
            kept.rest[t, k] = state.mean[k]
            state.mean[k] += (y[k] - state.mean[k]) / (t + 1)
    if scratch.asleep.shape[0] > 0 and t >= FIRST and weight > 0.0:
        spread_out(x.indices, x.values, scratch.raw)
        watch(state.columns, state.waking, scratch.asleep, scratch.raw)
    state.t[()] = t + 1
    scratch.common.halt[()] = t + 1 >= state.due[2]
    return loss
