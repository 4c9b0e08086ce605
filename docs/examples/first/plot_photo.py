"""
A photograph from a tenth of its pixels
=======================================

A pixel is a row: its place is two features, its colour three targets. Least squares on random features of a Laplacian
kernel has seen a tenth of the pixels, once, in random order, and fills in the rest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from kernelstream import OnlineKernelRegressor

photo = load_sample_image("china.jpg")[30:-21:4, ::4] / 255.0
height, width, _ = photo.shape
places = np.array([[i, j] for i in range(height) for j in range(width)]) / width
colours = photo.reshape(-1, 3)

chosen = np.random.default_rng(0).permutation(len(places))[: len(places) // 10]
model = OnlineKernelRegressor(
    "ridge", kernel="laplacian", gamma=8.0, n_components=700, regularization=0.03, random_state=0
)
model.fit(places[chosen], colours[chosen])

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
