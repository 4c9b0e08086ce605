"""
Which features matter
=====================

``auto`` learns a metric: in which directions does what it predicts change? Its diagonal is the share of each feature.
Of the digits, which are images, it is an image too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from kernelstream import OnlineKernelClassifier

digits, cells = load_digits(), load_breast_cancer()
pixels = OnlineKernelClassifier(random_state=0).fit(digits.data, digits.target).feature_importances_
shares = OnlineKernelClassifier(random_state=0).fit(cells.data, cells.target).feature_importances_

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 3.4), width_ratios=(1, 1, 1.5))
left.imshow(digits.data.mean(axis=0).reshape(8, 8), cmap="Greys")
left.set_title("the mean digit")
middle.imshow(pixels.reshape(8, 8), cmap="Oranges")
middle.set_title("what tells them apart")
for panel in (left, middle):
    panel.axis("off")
best = np.argsort(shares)[-6:]
right.barh(cells.feature_names[best], 100 * shares[best], color="#f76707")
right.set(title="of cells in a tumour", xlabel="share, %")
right.grid(axis="y", visible=False)
plt.show()
