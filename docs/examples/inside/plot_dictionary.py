"""
What a model keeps
==================

The points of a budgeted learner are rows, and of images they are images. These are the 40 digits that a Projectron
has kept of 1,797: framed by the class that each speaks for. All other mistakes were told in terms of these.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from kernelstream import Learner, Multiclass, Projectron
from kernelstream.kernels import Gaussian

X, y = load_digits(return_X_y=True)
learner = Learner(Projectron(kernel=Gaussian(gamma=0.05), budget=40), Multiclass(range(10)))
right = learner.predict_learn(X / 16, y) == y
points, coef = learner.attributes["points"], learner.attributes["coef"]
order = coef.argmax(axis=1).argsort(kind="stable")

figure, panels = plt.subplots(4, 10, figsize=(9.6, 4.2))
for panel, i in zip(panels.flat, order, strict=True):
    speaks = int(coef[i].argmax())
    panel.imshow(points[i].reshape(8, 8), cmap="Greys")
    panel.set(xticks=[], yticks=[])
    panel.grid(False)
    for spine in panel.spines.values():
        spine.set(visible=True, color=plt.cm.tab10(speaks), linewidth=2.5)
    panel.set_title(speaks, fontsize=9, color=plt.cm.tab10(speaks), loc="center", pad=2)
figure.suptitle(
    f"40 points, {right[900:].mean():.0%} right in the second half", x=0.01, ha="left", fontweight="bold", fontsize=12
)
plt.show()
