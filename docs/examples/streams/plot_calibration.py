"""
Probabilities to be believed
============================

Of the rows of which a model said 0.8, eight in ten should come. Margins of a hinge learner are no probabilities; a
link from one to the other is fitted while it learns, so that every classifier has ``predict_proba``.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets
from sklearn.calibration import calibration_curve

from kernelstream import OnlineKernelClassifier

rows, labels = zip(*datasets.Bananas(), strict=True)
X, y = np.array([[row["1"], row["2"]] for row in rows]), np.array(labels)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), width_ratios=(1.1, 1))
for name in "ridge", "nogd", "bsgd-m":
    model, chances = OnlineKernelClassifier(name, gamma=1.0, random_state=0), []
    for start in range(0, len(X), 50):  # said before they are learned
        block = slice(start, start + 50)
        if start >= 500:
            chances.append(model.predict_proba(X[block])[:, 1])
        model.partial_fit(X[block], y[block], classes=[False, True])
    said = np.concatenate(chances)
    came, mean = calibration_curve(y[500:], said, n_bins=10)
    left.plot(mean, came, "o-", label=name)
    right.hist(said, bins=20, histtype="step", linewidth=2)
left.plot([0, 1], [0, 1], color="#868e96", linestyle="--", linewidth=1.2)
left.set(xlabel="said", ylabel="came", title="Of rows with this chance ...", aspect="equal")
right.set(xlabel="said", title="... there are so many")
left.legend()
plt.show()
