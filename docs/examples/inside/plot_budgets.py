"""
What a budget costs
===================

Budgeted learners keep so many points and no more. How they make room decides how many they need: at random (RBP), by
projection on a neighbour (BPA-NN), by merging two points into one (BSGD-M). The dashed line keeps every point it
wants.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

from kernelstream import PA, Binary, Learner, make

rows, labels = zip(*datasets.Bananas(), strict=True)
X, y = np.array([[row["1"], row["2"]] for row in rows]), np.array(labels)


def mistakes(spec):
    learner = Learner(spec, Binary([False, True]), seed=0)
    return 100 * (learner.predict_learn(X, y) != y).mean(), learner.size


budgets = [10, 20, 40, 80, 160, 320]
figure, axes = plt.subplots()
for name in "rbp", "bpa-nn", "bsgd-m":
    axes.plot(budgets, [mistakes(make(name, budget=budget))[0] for budget in budgets], "o-", label=name)
error, size = mistakes(PA())
axes.axhline(error, color="#868e96", linestyle="--", linewidth=1.5, label=f"pa-1, {size:,} points")
axes.set(xscale="log", xlabel="budget, points", ylabel="mistakes, %", title="Bananas, 5,300 rows")
axes.set_xticks(budgets, budgets)
axes.minorticks_off()
axes.legend()
plt.show()
