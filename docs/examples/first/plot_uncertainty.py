"""
Where a model is not sure
=========================

How a disease went on in a year, by the body mass index of 442 people (scikit-learn's diabetes). The band is two
standard deviations to both sides: it has the noise that was seen everywhere, and opens where there was nobody to
learn from.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from kernelstream import OnlineKernelRegressor

X, y = load_diabetes(return_X_y=True, scaled=False)
index = X[:, [2]]

model = OnlineKernelRegressor("ridge", gamma=0.3, scaling="online", random_state=0).fit(index, y)
line = np.linspace(12, 52, 300)[:, None]
value, deviation = model.predict(line, return_std=True)
told, spread = model.predict(index, return_std=True)
inside = np.mean(np.abs(y - told) < 2 * spread)

figure, axes = plt.subplots()
axes.fill_between(line[:, 0], value - 2 * deviation, value + 2 * deviation, alpha=0.15, linewidth=0)
axes.plot(line, value, label="to be expected")
axes.scatter(index, y, s=12, color="#495057", alpha=0.6, linewidths=0, label="people")
axes.set(
    xlabel="body mass index", ylabel="progression after a year", title=f"{inside:.0%} of the people are within the band"
)
axes.legend(loc="upper left")
plt.show()
