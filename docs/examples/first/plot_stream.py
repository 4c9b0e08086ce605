"""
An honest error, as rows come
=============================

Each row of the digits is predicted before it is learned, so the error so far is honest on every row, and there is no
test set. Three models learn side by side from one reading of the data: the learner that needs no parameter, a fast
one, and a linear one of scikit-learn's.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

from kernelstream import FOGD, Learner, Multiclass
from kernelstream.evaluate import side_by_side
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource

X, y = load_digits(return_X_y=True)
task = Multiclass(range(10))
models = {
    "auto, nothing set": Learner("auto", task),
    "fogd": Learner(FOGD(kernel=Gaussian(gamma=0.0005)), task),
    "linear, scikit-learn's": SGDClassifier(random_state=0),
}
traces = side_by_side(list(models.values()), ArraySource(X[:1000], y[:1000]), task=task)

figure, axes = plt.subplots()
for name, trace in zip(models, traces, strict=True):
    course = trace.course("mistake_rate")
    axes.plot(course.rows, 100 * course.so_far, label=f"{name}: {100 * course.so_far[-1]:.1f} % in all")
axes.set(
    xscale="log",
    xlabel="rows so far",
    ylabel="mistakes so far, %",
    ylim=(0, None),
    title="Digits, in their order",
)
axes.legend()
plt.show()
