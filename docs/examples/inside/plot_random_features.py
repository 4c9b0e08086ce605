"""
How many random features are enough
===================================

Features stand in for a kernel: how far is z(x)'z(x') from k(x, x') on the digits? Random waves err like one over the
root of their number. Orthogonal ones (Hadamard matrices) err less at the same cost, and landmarks chosen from the
rows, which know where the data is, least of all.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from kernelstream import FourierFeatures, NystromFeatures, StructuredFeatures

X = load_digits().data[:600] / 16
exact = rbf_kernel(X, gamma=0.1)
maps = {
    "random waves": lambda n: FourierFeatures(n // 2, gamma=0.1, random_state=0),
    "structured waves": lambda n: StructuredFeatures(n // 2, gamma=0.1, random_state=0),
    "landmarks": lambda n: NystromFeatures(n, gamma=0.1),
}
lengths = [32, 64, 128, 256, 512]

figure, axes = plt.subplots()
for name, make in maps.items():
    errors = []
    for length in lengths:
        z = make(length).fit_transform(X)
        errors.append(np.sqrt(np.mean((z @ z.T - exact) ** 2)))
    axes.plot(lengths, errors, "o-", label=name)
axes.set(
    xscale="log",
    yscale="log",
    xlabel="numbers a row",
    ylabel="root mean square error",
    title="Features for a Gaussian kernel",
)
axes.set_xticks(lengths, lengths)
axes.minorticks_off()
axes.legend()
plt.show()
