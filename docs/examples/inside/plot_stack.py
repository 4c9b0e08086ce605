"""
Whom a stack trusts
===================

Least squares that remembers everything, and least squares whose memory is some fifty rows: who is right depends on
the stream. From row 900 on the digits are turned by a quarter, and a stack with Squint's weights changes its mind.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kernelstream import Learner, Multiclass, Ridge, Stack
from kernelstream.kernels import Gaussian

X, y = load_digits(return_X_y=True)
X = X / 16
X[900:] = np.rot90(X[900:].reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)

kernel = Gaussian(gamma=0.05)
remembers = Ridge(kernel=kernel, n_components=100, solve="exact")
forgets = Ridge(kernel=kernel, n_components=100, solve="exact", forget=0.98)
learner = Learner(Stack(parts=(remembers, forgets), combine="squint"), Multiclass(range(10)))
wrong = learner.predict_learn(X, y) != y
weights = np.asarray(learner.attributes["weights_over_time"])

figure, (above, below) = plt.subplots(2, 1, figsize=(7.6, 4.8), sharex=True)
above.stackplot(weights[:, 0], weights[:, 1:].T, labels=["remembers", "forgets"], alpha=0.85)
above.set(title="weights", ylim=(0, 1))
above.legend(loc="lower left", labelcolor="white")
below.plot(np.arange(100, len(y) + 1), 100 * np.convolve(wrong, np.ones(100) / 100, "valid"), color="#212529")
below.set(title="mistakes in the newest 100 rows, %", xlabel="rows so far", ylim=(0, None))
for panel in (above, below):
    panel.axvline(900, color="#e03131", linewidth=1.2, linestyle="--")
plt.show()
