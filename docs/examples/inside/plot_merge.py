"""
Eight machines, one model
=========================

Eight learners see an eighth of the rows each and become one. Least squares adds up what rows tell: the merged model
*is* the model of all rows. Others average weights or project points: the merged model is still better than any of its
parts.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

from kernelstream import OnlineKernelClassifier

rows, labels = zip(*datasets.Bananas(), strict=True)
X, y = np.array([[row["1"], row["2"]] for row in rows]), np.array(labels)
test = slice(4000, None)

figure, axes = plt.subplots()
for place, name in enumerate(("ridge", "fogd", "bpa-nn", "rbp")):
    make = lambda: OnlineKernelClassifier(name, gamma=1.0, random_state=0)  # noqa: B023, E731
    parts = [make().fit(X[start:4000:8], y[start:4000:8]) for start in range(8)]
    alone = [100 * (1 - part.score(X[test], y[test])) for part in parts]
    whole = make().fit(X[:4000], y[:4000])
    merged = parts[0]
    for part in parts[1:]:
        merged.merge(part)
    axes.scatter([place] * 8, alone, color="#adb5bd", s=28, label="a part of 500 rows" if place == 0 else None)
    axes.scatter(
        place,
        100 * (1 - merged.score(X[test], y[test])),
        color="#f76707",
        s=90,
        zorder=3,
        label="merged" if place == 0 else None,
    )
    axes.scatter(
        place,
        100 * (1 - whole.score(X[test], y[test])),
        marker="_",
        color="#1c7ed6",
        s=700,
        label="one learner, all rows" if place == 0 else None,
    )
axes.set(
    xticks=range(4),
    xticklabels=["ridge", "fogd", "bpa-nn", "rbp"],
    ylabel="mistakes on 1,300 other rows, %",
    title="Bananas",
    ylim=(0, None),
)
axes.legend()
plt.show()
