"""
A trend times a season
======================

Airline passengers of twelve years (River's), each month said before it was learned, from its date alone: where it
stands in the year, and how many days have passed. A linear kernel adds trend and season; a polynomial one multiplies
them as well, and that is what holidays do.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

from kernelstream import Learner, Regression, Ridge
from kernelstream.encoding import Columns
from kernelstream.kernels import Linear, Polynomial

rows, passengers = zip(*datasets.AirlinePassengers(), strict=True)
months, passengers = [row["month"] for row in rows], np.array(passengers)

figure, axes = plt.subplots(figsize=(9.6, 4.2))
axes.fill_between(months, passengers, color="#dee2e6", linewidth=0, label="passengers, in thousands")
for name, kernel in {"linear": Linear(), "polynomial": Polynomial(degree=2)}.items():
    spec = Ridge(kernel=kernel, map="nystrom", n_components=60, solve="exact", regularization=0.01)
    learner = Learner(spec, Regression(), columns=Columns(dates=("year", "trend")), scaling="online")
    said = np.exp(learner.predict_learn(list(rows), np.log(passengers)))
    error = np.abs(said - passengers)[24:].mean()
    axes.plot(months[12:], said[12:], label=f"{name}: off by {error:.0f} on average")
axes.set(title="Said a month before", ylim=(0, 700))
axes.legend(loc="upper left")
plt.show()
