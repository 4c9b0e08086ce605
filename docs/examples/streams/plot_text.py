"""
Whose help is it?
=================

The docstrings of scipy.stats and scipy.signal, in random order, as 65,536 hashed words of which each text has some
two hundred. A row costs what its own words cost.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import scipy.signal
import scipy.stats
from sklearn.feature_extraction.text import HashingVectorizer

from kernelstream import BPA, Binary, Learner, Ridge
from kernelstream.kernels import Gaussian, Linear

texts, labels = [], []
for module in scipy.stats, scipy.signal:
    for name in module.__all__:
        if text := inspect.getdoc(getattr(module, name)):
            texts.append(text.replace(name, " "))
            labels.append(module.__name__)
order = np.random.default_rng(0).permutation(len(texts))
X = HashingVectorizer(n_features=2**16, alternate_sign=False).transform(np.array(texts)[order])
y = np.array(labels)[order]

models = {
    "least squares on 100 texts, linear": Ridge(kernel=Linear(), map="nystrom", n_components=100),
    "50 texts, Gaussian": BPA(kernel=Gaussian(gamma=1.0), budget=50, maintenance="nearest"),
}
figure, axes = plt.subplots()
for name, spec in models.items():
    wrong = Learner(spec, Binary(sorted(set(labels)))).predict_learn(X, y) != y
    axes.plot(np.arange(1, len(y) + 1), 100 * np.cumsum(wrong) / np.arange(1, len(y) + 1), label=name)
axes.set(
    xlabel="texts so far",
    ylabel="mistakes so far, %",
    ylim=(0, 50),
    title=f"{X.nnz // len(y)} of {X.shape[1]:,} words a text",
)
axes.legend()
plt.show()
