"""
Cells that cover the data
=========================

AVM keeps one point a cell. A finer cover has more points and a finer border; on a bounded domain their number has a
bound, whatever the order and the length of the stream.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import EllipseCollection
from river import datasets

from kernelstream import AVM, Binary, Learner
from kernelstream.kernels import Gaussian

rows, labels = zip(*datasets.Bananas(), strict=True)
X, y = np.array([[row["1"], row["2"]] for row in rows]), np.array(labels)
side = np.linspace(-3.2, 3.2, 150)
grid = np.array([[a, b] for b in side for a in side])

figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.6), sharex=True, sharey=True)
for panel, coverage in zip(panels, (2.0, 1.0, 0.4), strict=True):
    learner = Learner(AVM(kernel=Gaussian(gamma=1.0), coverage=coverage, regularization=1e-3), Binary([False, True]))
    error = (learner.predict_learn(X, y) != y).mean()
    points = learner.attributes["points"]
    panel.contourf(
        side, side, learner.scores(grid).reshape(150, 150) >= 0, levels=[-0.5, 0.5, 1.5], cmap="RdBu_r", alpha=0.3
    )
    cells = EllipseCollection(
        coverage,
        coverage,
        0,
        units="xy",
        offsets=points,
        transOffset=panel.transData,
        facecolor="none",
        edgecolor="#495057",
        lw=0.7,
    )
    panel.add_collection(cells)
    panel.scatter(*points.T, s=8, color="#212529")
    panel.set(title=f"{len(points)} points", xlabel=f"coverage {coverage}: {error:.1%} wrong", aspect="equal")
    panel.grid(False)
plt.show()
