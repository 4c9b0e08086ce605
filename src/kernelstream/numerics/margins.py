"""From margins to chances of classes: softmax_k(a_k (f_k - max f) / s), a learned as rows come, s the size of scores.

Platt: Probabilistic Outputs for Support Vector Machines (1999), for several classes and online: a row's scores from
before it was learned and its class make a Newton step of the log loss, with the curvature of each a apart, and what
older rows told fades. For Platt's offset there is a slope for each class, how fast its chance falls with its distance
from the highest score: so the class of the highest score always has the largest chance. Of two classes the one score f
stands for (-f/2, f/2).

s, the root mean square of scores around their mean, makes a the same for scores of any unit, also where they grow with
the rows as a Perceptron's do.
"""

import math
from typing import NamedTuple

import numpy as np

from .compile import compiled

FADE = 1.0 / 1000.0  # of what older rows told, a row
PRIOR = 5.0  # curvature that the first value counts for
FLATTEST, STEEPEST = 0.05, 20.0  # the least and the most of a
SMALLEST, LARGEST = 1e-30, 1e200  # s, and s^2 of a row


class MarginLink(NamedTuple):
    slopes: np.ndarray  # (2, classes): a, and the curvature of the losses so far
    spread: np.ndarray  # (2,): squared scores, faded, and the weight of their rows


# What the arrays of a link may hold.
LIMITS = {"slopes": ((FLATTEST, 0.0), (STEEPEST, math.inf)), "spread": ((0.0, 0.0), (math.inf, math.inf))}


def first_link(n_classes: int) -> MarginLink:
    return MarginLink(np.vstack([np.ones(n_classes), np.full(n_classes, PRIOR)]), np.zeros(2))


def chances(link: MarginLink, scores: np.ndarray) -> np.ndarray:
    """(n, classes) of scores (n, K). A score of -inf, of a class that a row could not know, has no chance."""
    both = np.hstack([-0.5 * scores, 0.5 * scores]) if scores.shape[1] == 1 else scores
    size = math.sqrt(link.spread[0] / link.spread[1]) if link.spread[1] > 0.0 else 1.0
    behind = (both - both.max(axis=1, keepdims=True)).astype(np.float64)
    said = link.slopes[0] / max(size, SMALLEST) * behind
    grown = np.exp(np.where(np.isneginf(behind), -np.inf, np.maximum(said, surest(link))))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))


def surest(link: MarginLink) -> float:
    """The least logarithm of a class's odds against the likeliest: few rows do not tell how large scores become."""
    return -1.0 - float(link.spread[1])


@compiled
def learn_links(link, scores, classes, weights, p):
    """A step for each row: scores (n, K), the place of its class, its weight. p: room for a number a class."""
    a, bend = link.slopes[0], link.slopes[1]
    K, n = scores.shape[1], p.shape[0]
    for t in range(scores.shape[0]):
        weight = weights[t]
        faded = 1.0 - FADE * min(weight, 1.0)
        middle, square, top = 0.0, 0.0, -1e300
        for k in range(n):
            p[k] = scores[t, k] if K > 1 else (k - 0.5) * scores[t, 0]
            middle += p[k] / n
            top = max(top, p[k])
        for k in range(n):
            square += (p[k] - middle) * (p[k] - middle) / n
        link.spread[0] = faded * link.spread[0] + weight * min(square, LARGEST)
        link.spread[1] = faded * link.spread[1] + weight
        if not square > 0.0:
            continue
        size, total = max(math.sqrt(link.spread[0] / link.spread[1]), SMALLEST), 0.0
        for k in range(n):
            p[k] = (p[k] - top) / size
            total += math.exp(a[k] * p[k])
        for k in range(n):
            chance = math.exp(a[k] * p[k]) / total
            slope = p[k] * (chance - (1.0 if k == int(classes[t]) else 0.0))
            bend[k] = faded * bend[k] + (1.0 - faded) * PRIOR + weight * p[k] * p[k] * chance * (1.0 - chance)
            a[k] = min(max(a[k] - weight * slope / bend[k], FLATTEST), STEEPEST)
