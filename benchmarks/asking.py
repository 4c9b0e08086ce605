"""What few labels cost: mistakes over all rows where some labels are asked for, by margin, by spread and at random.

python -m benchmarks.asking [DATA ...]      # needs the papers' data sets (KERNELSTREAM_DATA)
"""

import sys
from typing import Any

import numpy as np

from kernelstream import FOGD, Binary, Learner, Perceptron, Ridge
from kernelstream.evaluate.asking import Asking, AtRandom, ByMargin, BySpread, Rule
from kernelstream.kernels import Gaussian

from .merges import rows_of

ROWS = 10_000
SETS = ("cod-rna", "a9a")
# Each learner with the rules that suit it: margins of ridge are those of least squares, within -1 and 1.
CASES: tuple[tuple[Any, dict[str, Any], tuple[Rule, ...]], ...] = (
    (Perceptron, {}, (ByMargin(b=3.0), ByMargin(b=0.3))),
    (FOGD, {"n_components": 400}, (ByMargin(b=0.3), ByMargin(b=0.03))),
    (Ridge, {"n_components": 100, "solve": "exact"}, (ByMargin(b=0.1), ByMargin(b=0.02), BySpread(kappa=0.2))),
)


def mistakes(spec: Any, rule: Rule, X: np.ndarray, y: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """(the share of labels asked for, the share of mistakes among all rows)."""
    asking = Asking(Learner(spec, Binary(np.unique(y)), seed=seed, threads=1), rule, seed=seed)
    shown = asking.learn(X, y, frozenset({"labels"}))["labels"]
    return asking.share, float(np.mean(shown != y))


def main() -> None:
    print("| data | learner | all labels | rule | labels asked for | mistakes | as many at random |")
    print("| --- | --- | ---: | --- | ---: | ---: | ---: |")
    for data in sys.argv[1:] or SETS:
        X, y, _ = rows_of(data, ROWS)
        for kind, parameters, rules in CASES:
            spec = kind(kernel=Gaussian(1.0 / (X.shape[1] * X.var())), **parameters)
            everything = mistakes(spec, AtRandom(share=1.0), X, y)[1]
            for rule in rules:
                share, found = mistakes(spec, rule, X, y)
                control = np.mean([mistakes(spec, AtRandom(share=share), X, y, seed)[1] for seed in range(3)])
                figures = f"{everything:.1%} | `{rule}` | {share:.1%} | {found:.1%} | {control:.1%} |"
                print(f"| {data} | `{spec.name}` | {figures.replace('%', ' %')}", flush=True)


if __name__ == "__main__":
    main()
