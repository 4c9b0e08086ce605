"""
As many points as the error asks for
====================================

POLK has no budget of points but one of error: after each step it removes points as long as the function stays within
epsilon. So the number of points levels off by itself, higher where ``parsimony`` is lower.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

from kernelstream import POLK, Binary, Learner
from kernelstream.evaluate import prequential
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource

rows, labels = zip(*datasets.Bananas(), strict=True)
source = ArraySource(np.array([[row["1"], row["2"]] for row in rows]), np.array(labels))

figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8))
for parsimony in 0.1, 0.3, 0.6:
    spec = POLK(kernel=Gaussian(gamma=1.0), learning_rate=0.3, parsimony=parsimony)
    trace = prequential(Learner(spec, Binary([False, True])), source)
    course = trace.course("mistake_rate")
    left.plot(course.rows, [one.size for one in trace.checkpoints], label=f"parsimony {parsimony}")
    right.plot(course.rows, 100 * course.so_far)
left.set(xlabel="rows so far", title="points kept")
right.set(xlabel="rows so far", title="mistakes so far, %", ylim=(5, 40), xscale="log")
left.legend()
plt.show()
