"""Numbers in units of the deviation that those before them have: what `OnlineScaling` computes, row by row."""

import numpy as np

from .compile import compiled, inlined
from .rows import LARGEST


@inlined
def _in_deviations(shift, squares, n):
    """A shift in units of the deviation of n rows; 0 when there is none."""
    deviation = np.sqrt(squares / max(n, 1))
    if not deviation > 0.0:
        return 0.0
    return min(max(shift / deviation, -LARGEST), LARGEST)


@inlined
def _scale_row(row, mean, squares, n, counts):
    """Scale a row in place: by itself and the n rows before it, which it joins where `counts` is 1; by those alone
    where it is -1.
    """
    for j in range(row.shape[0]):
        value = row[j]
        shift = value - mean[j]
        middle = mean[j] + shift / (n + 1)
        total = squares[j] + shift * (value - middle)
        row[j] = _in_deviations(shift, squares[j], n) if counts < 0 else _in_deviations(value - middle, total, n + 1)
        if counts == 1:
            mean[j], squares[j] = middle, total


@compiled
def scale_dense(rows, mean, squares, n, counts, shown):
    """Scale rows in place, and before row t joins what is known, row t of `shown`."""
    for t in range(rows.shape[0]):
        if t < shown.shape[0]:
            _scale_row(shown[t], mean, squares, n, 0)
        _scale_row(rows[t], mean, squares, n, counts)
        n += counts == 1


@inlined
def _scale_present(indices, values, squares, n, counts):
    """`_scale_row` for the features that are present, around a mean of 0."""
    for p in range(indices.shape[0]):
        value = values[p]
        total = squares[indices[p]] + value * value
        if counts < 0:
            values[p] = _in_deviations(value, squares[indices[p]], n)
        else:
            values[p] = _in_deviations(value, total, n + 1)
        if counts == 1:
            squares[indices[p]] = total


@compiled
def scale_sparse(indptr, indices, values, squares, n, counts, shown_indptr, shown_indices, shown_values):
    """`scale_dense` for sparse rows."""
    for t in range(indptr.shape[0] - 1):
        if t + 1 < shown_indptr.shape[0]:
            a, b = shown_indptr[t], shown_indptr[t + 1]
            _scale_present(shown_indices[a:b], shown_values[a:b], squares, n, 0)
        a, b = indptr[t], indptr[t + 1]
        _scale_present(indices[a:b], values[a:b], squares, n, counts)
        n += counts == 1


@compiled
def scale_targets(y, mean, squares, n, offsets, units):
    """Scale targets in place; what a prediction for each is scaled back by is known before it."""
    for t in range(y.shape[0]):
        if n > 0:
            offsets[t], units[t] = mean[0], np.sqrt(squares[0] / n)
        _scale_row(y[t : t + 1], mean, squares, n, 1)
        n += 1
