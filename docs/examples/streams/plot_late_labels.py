"""
What waiting for labels costs
=============================

Water through a pipe, hour by hour (River's WaterFlow). The flow of an hour is known at once, six hours later, or days
later: whoever judges a model without the delay fools himself. The model has the time of day and of the week, and what
flowed lately.
"""

import matplotlib.pyplot as plt
from river import datasets

from kernelstream import Learner, Regression, Ridge
from kernelstream.encoding import Columns
from kernelstream.evaluate import prequential
from kernelstream.metrics import RMSE

delays = [0, 1, 3, 6, 12, 24, 48, 96]
figure, axes = plt.subplots()
for name, forget in {"every hour counts the same": 1.0, "forgets within days": 0.99}.items():
    errors = []
    for delay in delays:
        spec = Ridge(n_components=60, solve="exact", forget=forget)
        learner = Learner(spec, Regression(), columns=Columns(dates=("day", "week")), scaling="online")
        trace = prequential(learner, datasets.WaterFlow(), delay=delay, metrics=[RMSE()])
        errors.append(trace.last.metrics["rmse"])
    axes.plot(range(len(delays)), errors, "o-", label=name)
axes.set(
    xlabel="hours until the flow is known",
    ylabel="root mean square error, l/s",
    title="Labels that come late",
    ylim=(0, None),
)
axes.set_xticks(range(len(delays)), delays)
axes.legend()
plt.show()
