"""
Three breaks in a water pipe
============================

The flow through a pipe, hour by hour (River's WaterFlow), and nobody says what a break is. A row is the flow and how it
has changed; ``OnlineKernelOutlier`` learns where rows are, and calls about one in fifty odd before it has learned it.
What lasts becomes usual: within a break, only its beginning and its end are news.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

from kernelstream import OnlineKernelOutlier

flow = np.array([litres for _, litres in datasets.WaterFlow()])
rows = np.column_stack([flow[1:], np.diff(flow)])

detector = OnlineKernelOutlier(nu=0.02, random_state=0)
odd = detector.predict_learn(rows) < 0
hours = np.arange(1, len(flow))

figure, (above, below) = plt.subplots(2, 1, figsize=(9.6, 4.8), sharex=True, height_ratios=(1.5, 1))
above.plot(hours, flow[1:], linewidth=1.4)
above.plot(hours[odd], flow[1:][odd], "o", color="#f76707", label=f"odd when it came: {odd.sum()} of {len(odd):,}")
above.set(title="litres a second", ylim=(0, 130))
above.legend(loc="lower right")
below.plot(hours, detector.score_samples(rows), linewidth=1.2, color="#495057")
below.axhline(detector.offset_, color="#f76707", linewidth=1.5)
below.set(title="score at the end, and the border", xlabel="hours")
plt.show()
