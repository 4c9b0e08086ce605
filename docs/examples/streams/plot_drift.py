"""
A camera that was turned
========================

From row 900 on the digits lie on their side. River's ADWIN sees the errors and finds the change; what the model does
then is ``on_drift``: nothing, begin anew, or begin anew from the newest rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kernelstream import FOGD, Learner, Multiclass
from kernelstream.evaluate import prequential
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource

X, y = load_digits(return_X_y=True)
X = X / 16
X[900:] = np.rot90(X[900:].reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)

figure, axes = plt.subplots()
for height, on_drift in enumerate(("warn", "restart", "forget:100")):
    learner = Learner(FOGD(kernel=Gaussian(gamma=0.05)), Multiclass(range(10)))
    trace = prequential(learner, ArraySource(X, y), checkpoints=60, drift="adwin", on_drift=on_drift)
    course = trace.course("mistake_rate")
    (line,) = axes.plot(course.rows, 100 * course.window, label=on_drift)
    for drift in trace.drifts:
        if drift.after > drift.before:
            axes.plot(drift.row, 97 - 5 * height, marker="v", markersize=9, color=line.get_color())
axes.axvline(900, color="#868e96", linestyle="--", linewidth=1.5)
axes.annotate("turned", (900, 80), (-6, 0), textcoords="offset points", ha="right", color="#868e96")
axes.set(
    xlabel="rows so far",
    ylabel="mistakes in windows of 60 rows, %",
    title="Drift, found (triangles) and acted on",
    ylim=(0, 100),
)
axes.legend(loc="upper left")
plt.show()
