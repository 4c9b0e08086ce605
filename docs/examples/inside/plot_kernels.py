"""
What each kernel believes in
============================

A kernel is an opinion about functions. Random weights on the random features of a kernel draw functions that it takes
for likely: smooth ones for the Gaussian, rough ones for the Laplacian, with Matern's in between.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelstream import FourierFeatures
from kernelstream.kernels import Cauchy, Gaussian, Laplacian, Matern

x = np.linspace(-3, 3, 600)[:, None]
rng = np.random.default_rng(3)

figure, panels = plt.subplots(2, 4, figsize=(9.6, 4.4), sharex=True, sharey="row", height_ratios=(1, 1.4))
kernels = {
    "Gaussian": Gaussian(2.0),
    "Matern 5/2": Matern(2.0, nu=2.5),
    "Laplacian": Laplacian(2.0),
    "Cauchy": Cauchy(2.0),
}
for (above, below), (name, kernel) in zip(panels.T, kernels.items(), strict=True):
    features = FourierFeatures(4000, kernel=kernel, random_state=0).fit(x)
    z = features.transform(x)
    above.fill_between(x[:, 0], z @ features.transform([[0.0]])[0], alpha=0.8, linewidth=0)
    above.set_title(name)
    for _ in range(3):
        below.plot(x, z @ rng.normal(size=z.shape[1]), linewidth=1.3)
panels[0, 0].set_ylabel("k(0, x)")
panels[1, 0].set_ylabel("three functions")
plt.show()
