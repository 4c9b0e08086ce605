"""
Whom a stack trusts
===================

Least squares remembers everything, gradient descent follows the present. From row 900 on the digits are turned by a
quarter; a stack of both, with Squint's weights, finds out who is right, before and after.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kernelstream import FOGD, Learner, Multiclass, Ridge, Stack
from kernelstream.kernels import Gaussian

X, y = load_digits(return_X_y=True)
X = X / 16
X[900:] = np.rot90(X[900:].reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)

kernel = Gaussian(gamma=0.05)
parts = Ridge(kernel=kernel, n_components=100), FOGD(kernel=kernel, n_components=100, learning_rate=0.5)
learner = Learner(Stack(parts=parts, combine="squint"), Multiclass(range(10)))
wrong = learner.predict_learn(X, y) != y
weights = np.asarray(learner.attributes["weights_over_time"])

figure, (above, below) = plt.subplots(2, 1, figsize=(7.6, 4.8), sharex=True)
above.stackplot(weights[:, 0], weights[:, 1:].T, labels=["ridge", "fogd"], alpha=0.85)
above.set(title="weights", ylim=(0, 1))
above.legend(loc="lower left", labelcolor="white")
below.plot(np.convolve(wrong, np.ones(100) / 100, "valid").repeat(1) * 100, color="#212529")
below.set(title="mistakes in the newest 100 rows, %", xlabel="rows so far", ylim=(0, None))
for panel in (above, below):
    panel.axvline(900, color="#e03131", linewidth=1.2, linestyle="--")
plt.show()
