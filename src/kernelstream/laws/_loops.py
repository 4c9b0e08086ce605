"""Loops over rows in which the laws of kernels and losses call compiled code."""

from ..losses import slope
from ..numerics import expansion
from ..numerics.compile import compiled
from ..numerics.rows import row_of


@compiled
def add_rows(kernel, f, block, scratch, g):
    for t in range(block.indptr.shape[0] - 1):
        expansion.store(kernel, f, t, row_of(block, t, 0, scratch), 1.0, g)


@compiled
def all_kernel_rows(kernel, f, block, scratch, row, out):
    for t in range(out.shape[0]):
        expansion.kernel_values(kernel, f, row_of(block, t, 0, scratch), row)
        for i in range(out.shape[1]):
            out[t, i] = row.values[i]


@compiled
def all_slopes(loss, targets, scores, slopes, values):
    for t in range(targets.shape[0]):
        values[t] = slope(loss, targets[t], scores[t], slopes[t])
