"""
A border that grows with the rows
=================================

Two banana-shaped classes, 5,300 rows that come with River. The same model after 50, 300 and 5,300 of them: it never
saw a row twice, and every row was predicted before it was learned.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

from kernelstream import OnlineKernelClassifier

rows, labels = zip(*datasets.Bananas(), strict=True)
X, y = np.array([[row["1"], row["2"]] for row in rows]), np.array(labels)

model = OnlineKernelClassifier("nogd", gamma=1.0, random_state=0)
side = np.linspace(-3.2, 3.2, 160)
grid = np.array([[a, b] for b in side for a in side])

figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.6), sharex=True, sharey=True)
seen = 0
for panel, upto in zip(panels, (50, 300, 5300), strict=True):
    said = model.predict_learn(X[seen:upto], y[seen:upto], classes=[False, True])
    wrong = (said != y[seen:upto]).mean()
    chance = model.predict_proba(grid)[:, 1].reshape(160, 160)
    panel.contourf(side, side, chance, levels=np.linspace(0, 1, 21), cmap="RdBu_r", alpha=0.75)
    panel.contour(side, side, chance, levels=[0.5], colors="#212529", linewidths=1.5)
    shown = slice(max(0, upto - 300), upto)
    panel.scatter(*X[shown].T, c=y[shown], cmap="RdBu_r", s=9, edgecolors="white", linewidths=0.4)
    panel.set(title=f"after {upto:,} rows", xlabel=f"{wrong:.0%} of rows {seen + 1:,} to {upto:,} wrong")
    panel.grid(False)
    seen = upto
plt.show()
