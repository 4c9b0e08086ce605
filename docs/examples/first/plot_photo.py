"""
A photograph from a fifth of its pixels
=======================================

A pixel is a row: its place is two features, its colour three targets. Least squares on 700 landmarks has seen a fifth
of the pixels, once, in random order, and fills in the rest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from kernelstream import OnlineKernelRegressor, Ridge
from kernelstream.kernels import Matern

photo = load_sample_image("china.jpg")[30:-21:5, ::5] / 255.0
height, width, _ = photo.shape
places = np.array([[i, j] for i in range(height) for j in range(width)]) / width
colours = photo.reshape(-1, 3)

chosen = np.random.default_rng(0).permutation(len(places))[: len(places) // 5]
spec = Ridge(kernel=Matern(300.0, nu=1.5), map="nystrom", n_components=700, regularization=0.02)
model = OnlineKernelRegressor(spec).fit(places[chosen], colours[chosen])

seen = np.ones_like(colours)
seen[chosen] = colours[chosen]
pictures = {
    f"{len(chosen):,} pixels": seen,
    "what the model makes of them": model.predict(places).clip(0, 1),
    f"all {len(places):,}": colours,
}
figure, panels = plt.subplots(1, 3, figsize=(9.6, 2.6))
for panel, (title, pixels) in zip(panels, pictures.items(), strict=True):
    panel.imshow(pixels.reshape(height, width, 3), interpolation="nearest")
    panel.set_title(title)
    panel.axis("off")
plt.show()
