"""f in fewer terms: its projection on the span of some of them, which are chosen one by one."""

from typing import TYPE_CHECKING

import numpy as np

from .expansion import Expansion, taken
from .gram import gram_matrix

if TYPE_CHECKING:
    from ..kernels import Kernel

# A point is not chosen when no more than this share of the squared norm of k(x, .) lies outside the span of the others:
# its coefficient would be rounding divided by nearly 0.
ROUNDING = {"float32": 3e-5, "float64": 1e-12}


def projected(kernel: "Kernel", f: Expansion, budget: int, capacity: int) -> Expansion:
    """f itself where it has at most `budget` terms, else its projection on the span of so many; with room for
    `capacity`.

    The projection takes f's values at the points kept; for a kernel that is not positive definite, where nothing is
    nearest, it is the function that does.
    """
    n = int(f.size)
    if n <= budget:
        return taken(f, range(n), capacity)
    kept, gram, at_points = chosen(kernel, f, budget)
    fewer = taken(f, kept, capacity)
    fewer.coef[:, : len(kept)] = np.linalg.solve(gram[np.ix_(kept, kept)], at_points[:, kept].T).T
    return fewer


def chosen(kernel: "Kernel", f: Expansion, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up to `most` terms of f, with the Gram matrix of all of them and f at their points.

    They are the pivots of a Cholesky factorisation of that matrix, the next one always that which brings the projection
    of f nearest to it. There are fewer where the others lie in their span.
    """
    gram = gram_matrix(kernel, f)
    at_points = f.coef[:, : len(gram)].astype(np.float64) @ gram
    least = ROUNDING[f.coef.dtype.name] * np.abs(np.diag(gram))
    # <f - P f, k(x_i, .)> and ||k(x_i, .) - P k(x_i, .)||^2, P the projection on the span of the points chosen.
    left, outside = at_points.copy(), np.diag(gram).copy()
    columns, signs = np.zeros((most, len(gram))), np.zeros(most)
    pivots: list[int] = []
    for j in range(most):
        free = np.abs(outside) > least
        free[pivots] = False
        gains = (left**2).sum(axis=0, where=free) / np.where(free, np.abs(outside), 1.0)
        p = int(np.argmax(gains))
        if gains[p] == 0.0:
            break
        column = gram[p] - (signs[:j] * columns[:j, p]) @ columns[:j]
        left -= np.outer(left[:, p] / outside[p], column)
        signs[j], columns[j] = np.sign(outside[p]), column / np.sqrt(np.abs(outside[p]))
        outside -= signs[j] * columns[j] ** 2
        pivots.append(p)
    return np.sort(np.array(pivots, np.int64)), gram, at_points
