"""The papers' numbers, on the papers' data: needs the mirror directory (KERNELSTREAM_DATA)."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import Binary, Learner, Multiclass, Regression, make
from kernelstream.kernels import Gaussian
from kernelstream.sources import open_source

# LSOKL Tables 5 (binary, B = 100), 7 (multiclass, B = 200) and 9 (regression, B = 30): mean and standard deviation over
# the authors' 20 row orders of the mistake rate in percent, or of the squared loss.
PUBLISHED = {
    "german": {
        "perceptron": (35.2, 0.9), "ogd": (29.5, 0.5), "rbp": (37.5, 1.1), "forgetron": (38.1, 0.9),
        "projectron": (35.6, 1.5), "projectron++": (35.1, 1.1), "bpa-s": (33.9, 0.9), "fogd": (29.9, 0.7),
        "nogd": (30.4, 0.8),
    },
    "spambase": {
        "perceptron": (24.5, 0.1), "rbp": (33.3, 0.4), "forgetron": (34.6, 0.5), "projectron": (30.8, 1.2),
        "projectron++": (30.4, 1.0), "bpa-s": (30.8, 0.8), "fogd": (26.9, 1.0),
    },
    "dna": {
        "perceptron": (20.4, 0.7), "ogd": (16.1, 0.4), "rbp": (31.1, 1.4), "forgetron": (30.9, 2.1),
        "projectron": (22.7, 4.4), "projectron++": (23.1, 6.1), "bpa-s": (25.3, 1.2), "fogd": (20.8, 0.7),
        "nogd": (20.7, 0.9), "bogd": (36.3, 0.9),
    },
    "satimage": {
        "perceptron": (29.6, 0.5), "ogd": (23.6, 0.3), "rbp": (49.3, 0.8), "forgetron": (48.2, 1.4),
        "projectron": (29.6, 0.5), "projectron++": (25.9, 0.4), "bpa-s": (27.9, 0.3), "fogd": (29.5, 0.4),
        "nogd": (23.7, 0.3), "bogd": (48.2, 0.6),
    },
    "housing": {
        "perceptron": (0.04018, 0.0008), "ogd": (0.04017, 0.00043), "norma": (0.04329, 0.00065),
        "rbp": (0.05837, 0.0014), "forgetron": (0.05848, 0.00216), "projectron": (0.04023, 0.0008),
        "fogd": (0.04009, 0.00071), "nogd": (0.04063, 0.00043), "bogd": (0.0527, 0.00134),
    },
    "mg": {
        "perceptron": (0.05682, 0.00084), "ogd": (0.05341, 0.00071), "norma": (0.06446, 0.00073),
        "rbp": (0.09652, 0.00253), "forgetron": (0.09742, 0.00334), "projectron": (0.05683, 0.00084),
        "fogd": (0.0559, 0.00073), "nogd": (0.05356, 0.00076), "bogd": (0.08936, 0.00198),
    },
}  # fmt: skip

# What does not come out within two standard deviations, by how many it is off, and why.
EXCEPTIONS = {
    # Not the treatment of a score of 0 (34.3 when it counts as +1 for the update too) nor the random numbers (34.1 with
    # NumPy's).
    ("spambase", "rbp"): (2.0, 4.0, "34.3 against 33.3; the BOGD paper's Table 3 has 34.15 +- 0.66 for the same cell"),
    ("satimage", "fogd"): (-5.0, -2.0, "27.8 against 29.5: better; a step of 0.02 gives 29.6"),
    ("housing", "bogd"): (-3.0, -2.0, "0.0499 against 0.0527: better; its step size is not in the option file"),
    ("mg", "bogd"): (-3.0, -2.0, "0.0840 against 0.0894: better; its step size is not in the option file"),
}

# Step sizes of the authors' scripts and option files: of OGD and NOGD, and of FOGD, whose features are not normalised.
RATES = {
    "german": (0.2, 0.002), "spambase": (0.2, 0.002), "dna": (0.5, 0.005), "satimage": (0.5, 0.005),
    "housing": (0.3, 6e-4), "mg": (0.4, 6e-4),
}  # fmt: skip
CASES = [(data, algorithm) for data, row in PUBLISHED.items() for algorithm in row]


def spec(data, algorithm):
    regression, multiclass = data in ("housing", "mg"), data in ("dna", "satimage")
    budget = 30 if regression else 200 if multiclass else 100
    rate, fogd_rate = RATES[data]
    # In regression the authors move when |r| > 0.1, which is 0.005 on our r^2 / 2; mistakes have length 0.1.
    descent = {"learning_rate": rate, "threshold": 0.005 if regression else 0.0}
    mistakes = {"learning_rate": 0.1, "epsilon": 0.1} if regression else {}
    parameters = {
        "perceptron": mistakes,
        "ogd": descent,
        "norma": {"learning_rate": 0.03, "nu": 0.4, "regularization": 0.03},
        "rbp": {"budget": budget, **mistakes},
        "forgetron": {"budget": budget, **mistakes},
        "projectron": {"budget": budget, **mistakes},
        "projectron++": {"budget": budget},
        "bpa-s": {"budget": budget, "aggressiveness": 1.0},
        "fogd": {
            **descent,
            "learning_rate": fogd_rate,
            "n_components": (15 if regression else 4) * budget,
            "normalize": False,
        },
        "nogd": {**descent, "budget": budget, "rank": budget // 5},
        "bogd": {**descent, "budget": budget, "sampling": "oldest", "regularization": 0.03 if regression else 1e-5},
    }
    return make(algorithm, kernel=Gaussian(sigma=8), **parameters[algorithm])


@cache
def authors_rows(directory, name):
    """The authors' file as dense rows, its labels, and their 20 row orders."""
    file = next((directory / name).glob(f"{name}.fogd*.libsvm.xz"))
    blocks = list(open_source(file))
    width = blocks[-1][0].shape[1]
    X = [sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], width)).toarray() for x, _ in blocks]
    with np.load(directory / name / f"{name}.fogd_perms.npz") as orders:
        return np.concatenate(X), np.concatenate([y for _, y in blocks]), orders["perm"]


def result(directory, data, algorithm):
    """Mistake rates in percent, or squared losses, over the authors' row orders."""
    X, y, orders = authors_rows(directory, data)
    tasks = {"german": Binary, "spambase": Binary, "dna": Multiclass, "satimage": Multiclass}
    results = []
    for seed, order in enumerate(orders):
        task = tasks[data](np.unique(y)) if data in tasks else Regression()
        # float64: kernel values of spambase's far points vanish in float32, and with them some of the scores' signs.
        shown = Learner(spec(data, algorithm), task, seed=seed, dtype="float64").predict_learn(X[order], y[order])
        truth = y[order]
        results.append(100 * np.mean(shown != truth) if data in tasks else np.mean((shown - truth) ** 2))
    assert len(results) == 20
    return np.array(results)


@pytest.mark.parametrize(("data", "algorithm"), CASES)
def test_lsokl_tables_come_out_within_two_standard_deviations(data_directory, data, algorithm):
    published, deviation = PUBLISHED[data][algorithm]
    ours = result(data_directory, data, algorithm)
    low, high, _ = EXCEPTIONS.get((data, algorithm), (-2.0, 2.0, ""))
    off = (ours.mean() - published) / deviation
    assert low <= off <= high, f"{ours.mean():.5g} +- {ours.std():.3g}, published {published} +- {deviation}"


def test_the_readme_counts_what_is_tested():
    readme = " ".join((Path(__file__).parents[1] / "README.md").read_text().split())
    words = {3: "three", 4: "four", 5: "five"}
    assert f"{len(CASES) - len(EXCEPTIONS)} of {len(CASES)} cells" in readme
    assert f"the other {words[len(EXCEPTIONS)]} are named" in readme
