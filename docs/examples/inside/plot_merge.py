"""
Eight machines, one model
=========================

Eight learners see an eighth of the rows each and become one. Least squares adds up what rows tell: the merged model
*is* the model of all rows. Others average weights or project points, and come as near to one learner that saw all
rows as matters.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets
from sklearn.base import clone

from kernelstream import BPA, FOGD, RBP, OnlineKernelClassifier, Ridge

rows, labels = zip(*datasets.Bananas(), strict=True)
X, y = np.array([[row["1"], row["2"]] for row in rows]), np.array(labels)
test = slice(4000, None)

figure, axes = plt.subplots()
specs = {"ridge": Ridge(solve="exact"), "fogd": FOGD(), "bpa-nn": BPA(maintenance="nearest"), "rbp": RBP()}
for place, spec in enumerate(specs.values()):
    model = OnlineKernelClassifier(spec, gamma=1.0, random_state=0)
    parts = [clone(model).fit(X[start:4000:8], y[start:4000:8]) for start in range(8)]
    alone = [100 * (1 - part.score(X[test], y[test])) for part in parts]
    merged, whole = parts[0], clone(model).fit(X[:4000], y[:4000])
    for part in parts[1:]:
        merged.merge(part)
    axes.plot([place] * 8, alone, "o", color="#adb5bd", label="a part of 500 rows")
    axes.plot(
        place, 100 * (1 - whole.score(X[test], y[test])), "_", color="#1c7ed6", ms=34, mew=3, label="one, all rows"
    )
    axes.plot(place, 100 * (1 - merged.score(X[test], y[test])), "o", color="#f76707", ms=9, label="merged")
axes.set(xticks=range(4), xticklabels=specs, ylabel="mistakes on 1,300 other rows, %", title="Bananas", ylim=(0, None))
axes.legend(*(part[:3] for part in axes.get_legend_handles_labels()))
plt.show()
