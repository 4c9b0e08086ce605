"""
The strangest digits
====================

All threes of the digits, and nobody says what a three is. ``OnlineKernelOutlier`` learns where rows are and calls
about one in twenty odd; sevens that are mixed in are found without a label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kernelstream import OnlineKernelOutlier

X, digit = load_digits(return_X_y=True)
threes, sevens = X[digit == 3] / 16, X[digit == 7][:12] / 16
stream = np.concatenate([threes, sevens])
seven = np.arange(len(stream)) >= len(threes)
order = np.concatenate([np.arange(60), 60 + np.random.default_rng(0).permutation(len(stream) - 60)])
stream, seven = stream[order], seven[order]

detector = OnlineKernelOutlier(nu=0.05, gamma=0.05)
said = detector.predict_learn(stream)
scores = detector.score_samples(stream)
strange = np.argsort(scores)

figure = plt.figure(figsize=(9.6, 4.2))
above, below = figure.subfigures(2, 1, height_ratios=(1.5, 1))
axes = above.subplots()
bins = np.linspace(scores.min(), scores.max(), 30)
axes.hist([scores[~seven], scores[seven]], bins, stacked=True, label=["threes", "sevens"], color=["#adb5bd", "#f76707"])
axes.axvline(detector.offset_, color="#212529", linewidth=1.5, label="border")
axes.set(
    xlabel="score: large where rows are many",
    title=f"{(said[seven] < 0).sum()} of 12 sevens were called odd when they came",
)
axes.legend()
for panel, i in zip(below.subplots(1, 14), strange, strict=False):
    panel.imshow(stream[i].reshape(8, 8), cmap="Oranges" if seven[i] else "Greys")
    panel.axis("off")
plt.show()
