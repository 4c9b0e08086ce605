"""
Error against speed
===================

Which learner is worth its time on these rows? One reading of the data, every model on the same rows: ours, and two of
River's. To the left is faster, down is better. Nothing is tuned.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets, forest, tree

from kernelstream import Binary, Learner
from kernelstream.evaluate import side_by_side
from kernelstream.sources import ArraySource

rows, labels = zip(*datasets.Bananas().take(2500), strict=True)
source = ArraySource(np.array([[row["1"], row["2"]] for row in rows]), np.array(labels))
task = Binary([False, True])

ours = {"auto": (0, 10), "ridge": (0, 10), "fogd": (9, -4), "nogd": (-9, -14), "bsgd-m": (-14, -18), "rbp": (0, 10)}
theirs = [tree.HoeffdingTreeClassifier(), forest.ARFClassifier(n_models=3, seed=0)]
traces = side_by_side([*(Learner(name, task) for name in ours), *theirs], source, task=task)

figure, axes = plt.subplots()
for trace in traces:
    at = 1e6 / trace.rows_per_second, 100 * trace.last.metrics["mistake_rate"]
    axes.scatter(*at, s=70, color="#1c7ed6" if trace.algorithm in ours else "#2b8a3e", zorder=3)
    axes.annotate(trace.algorithm, at, ours.get(trace.algorithm, (-60, 10)), textcoords="offset points", fontsize=9.5)
axes.set(xscale="log", xlabel="microseconds a row", ylabel="mistakes, %", title="Bananas, 2,500 rows", ylim=(0, 50))
axes.margins(x=0.15)
plt.show()
