"""
Two weeks of water
==================

A dictionary with a date is a row: the time of day and of the week become features. Every hour is predicted before it
is learned; after the first days the model knows when people wake.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

from kernelstream import Learner, Regression, Ridge
from kernelstream.encoding import Columns

rows, flow = zip(*datasets.WaterFlow(), strict=True)
columns = Columns(dates=("day", "week"))
learner = Learner(Ridge(n_components=60, solve="exact", forget=0.995), Regression(), columns=columns, scaling="online")
said = learner.predict_learn(list(rows), flow)
hours = np.array([row["Time"].replace(tzinfo=None) for row in rows])

figure, panels = plt.subplots(2, 1, figsize=(9.6, 4.8), sharey=True)
for panel, start, title in ((panels[0], 0, "the first week"), (panels[1], 24 * 35, "the sixth week")):
    week = slice(start, start + 168)
    error = np.abs(said[week] - np.array(flow)[week]).mean()
    panel.fill_between(hours[week], flow[week], color="#dee2e6", linewidth=0, label="flow")
    panel.plot(hours[week], said[week], linewidth=1.8, label="said an hour before")
    panel.set_title(f"{title}: off by {error:.0f} l/s on average")
    panel.set_ylim(0, 260)
panels[0].legend(loc="upper right", ncols=2)
plt.show()
