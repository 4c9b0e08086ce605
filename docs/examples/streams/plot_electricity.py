"""
Will electricity become dearer?
===============================

Half-hours of the market of New South Wales, in time (elec2). Labels come in runs, so "as last time" is a hard
opponent, and prices change their habits. Where elec2 is not at hand (``kernelstream datasets`` says where it
belongs), phishing web sites stand in.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

from kernelstream import Learner
from kernelstream.evaluate import side_by_side
from kernelstream.sources import ArraySource, open_source
from kernelstream.tasks import classification

try:
    blocks = list(open_source("elec2"))
    X, y = np.concatenate([X.toarray() for X, _ in blocks])[:12_000], np.concatenate([y for _, y in blocks])[:12_000]
    title, window = "elec2, the first 12,000 half-hours", 400
except FileNotFoundError:
    rows, labels = zip(*datasets.Phishing(), strict=True)
    X, y = np.array([list(row.values()) for row in rows], float), np.array(labels)
    title, window = "phishing, 1,250 web sites", 125

task = classification(np.unique(y))
models = [Learner("auto", task), Learner("fogd", task, scaling="online")]
figure, axes = plt.subplots()
for trace in side_by_side(models, ArraySource(X, y), checkpoints=window):
    course = trace.course("mistake_rate")
    axes.plot(course.rows, 100 * course.window, label=f"{trace.algorithm}, {100 * course.so_far[-1]:.1f} % in all")
same = np.concatenate([[False], y[1:] == y[:-1]])
ends = np.arange(window, len(y) + 1, window)
axes.plot(
    ends,
    [100 * (1 - same[end - window : end].mean()) for end in ends],
    color="#868e96",
    linestyle="--",
    linewidth=1.5,
    label="as last time",
)
axes.set(xlabel="rows so far", ylabel=f"mistakes in windows of {window}, %", title=title, ylim=(0, None))
axes.legend()
plt.show()
