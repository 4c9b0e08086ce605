"""PROS-N-KONS, Alg. 1: A += sigma g g', w <- w - A^-1 g, projected on |w'z| <= C; anew with each point of KORS."""

import numpy as np

from .pkawv import Points


def learn(spec, loss, X, y, outputs, seed):
    S, alpha, C, sigma, scores = Points(spec, seed, X), spec.regularization, spec.reach, spec.curvature, []
    A, w = np.zeros((0, 0)), np.zeros(0)
    for x, yt in zip(X, y, strict=True):
        z = S.embed(x)
        f = np.clip(w @ z, -C, C)
        scores.append([f])
        _, slope = loss(yt, np.array([f]))
        if w @ z != f:
            h = np.linalg.solve(A, z)
            w = w - (w @ z - f) / (z @ h) * h
        if S.draw(x):
            z, w = S.embed(x), np.append(w, 0.0) * (spec.restart != "whole")
            A = alpha * np.eye(len(z))
        g = slope[0] * z
        A = A + sigma * np.outer(g, g)
        w = w - np.linalg.solve(A, g)
    return np.array(scores), len(S.points)
