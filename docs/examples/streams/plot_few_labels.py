"""
What few labels cost
====================

Digits, odd or even (scikit-learn's). A label costs somebody's time, so the learner asks for some only: where it is
unsure, or as many at random. Errors are counted over all rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from kernelstream import Binary, Learner, Ridge
from kernelstream.evaluate import Asking, AtRandom, ByMargin, prequential
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource

X, y = load_digits(return_X_y=True)
X, y = X / 16.0, y % 2


def run(rule):
    """(labels asked for, mistakes), both as shares of all rows."""
    learner = Learner(Ridge(kernel=Gaussian(gamma=0.2), n_components=100, solve="exact"), Binary([0, 1]))
    asking = Asking(learner, rule)
    trace = prequential(asking, ArraySource(X, y))
    return asking.share, trace.last.metrics["mistake_rate"]


unsure = [run(ByMargin(b=b)) for b in (0.01, 0.03, 0.1, 0.3, 1.0)]
random = [run(AtRandom(share=share)) for share, _ in unsure]
figure, axes = plt.subplots()
for name, found in {"where it is unsure": unsure, "at random": random}.items():
    axes.plot(*([100 * value for value in column] for column in zip(*found, strict=True)), "o-", label=name)
axes.set(xlabel="labels asked for, % of all rows", ylabel="mistakes, % of all rows", title="Few labels", ylim=(0, None))
axes.legend()
plt.show()
