"""
Error against speed
===================

Which learner is worth its time on these rows? One reading of the data, every model on the same rows: ours, and two of
River's. To the left is faster, down is better. Nothing is tuned.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets, linear_model, tree

from kernelstream import Binary, Learner
from kernelstream.evaluate import side_by_side
from kernelstream.sources import ArraySource

rows, labels = zip(*datasets.Bananas(), strict=True)
source = ArraySource(np.array([[row["1"], row["2"]] for row in rows]), np.array(labels))
task = Binary([False, True])

ours = [Learner(name, task) for name in ("auto", "ridge", "fogd", "nogd", "bpa-nn", "bsgd-m", "rbp")]
theirs = [tree.HoeffdingAdaptiveTreeClassifier(seed=0), linear_model.LogisticRegression()]
traces = side_by_side([*ours, *theirs], source, task=task)

figure, axes = plt.subplots()
for trace in traces:
    own = trace.algorithm in [learner.name for learner in ours]
    at = 1e6 / trace.rows_per_second, 100 * trace.last.metrics["mistake_rate"]
    axes.scatter(*at, s=70, color="#1c7ed6" if own else "#2b8a3e", zorder=3)
    axes.annotate(trace.algorithm, at, (8, 0), textcoords="offset points", va="center", fontsize=9.5)
axes.set(
    xscale="log",
    xlabel="microseconds a row",
    ylabel="mistakes, %",
    title="Bananas, 5,300 rows, defaults",
    ylim=(0, None),
)
axes.margins(x=0.18)
plt.show()
