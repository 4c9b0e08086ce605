"""What few labels cost: mistakes over all rows where some labels are asked for, by margin, by spread and at random.

python -m benchmarks.asking [DATA ...]      # needs the papers' data sets (KERNELSTREAM_DATA)

What was measured is kept in asking.json, of which `benchmarks.choosing` draws a panel.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import FOGD, Binary, Learner, Perceptron, Ridge
from kernelstream.evaluate.asking import Asking, AtRandom, ByMargin, BySpread, Rule
from kernelstream.kernels import Gaussian

from .merges import rows_of

ROWS = 10_000
SETS = ("cod-rna", "a9a")
FILE = Path(__file__).with_suffix(".json")
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


def measured(data: str) -> Iterator[dict[str, Any]]:
    """Of each learner and rule: the share of labels asked for, mistakes with it, with all labels, as many at random."""
    X, y, _ = rows_of(data, ROWS)
    for kind, parameters, rules in CASES:
        spec = kind(kernel=Gaussian(1.0 / (X.shape[1] * X.var())), **parameters)
        everything = mistakes(spec, AtRandom(share=1.0), X, y)[1]
        for rule in rules:
            share, found = mistakes(spec, rule, X, y)
            control = float(np.mean([mistakes(spec, AtRandom(share=share), X, y, seed)[1] for seed in range(3)]))
            figures = {"all": everything, "share": share, "mistakes": found, "random": control}
            named = {"data": data, "learner": spec.name, "rule": str(rule)}
            yield named | {name: round(value, 5) for name, value in figures.items()}


def main() -> None:
    print("| data | learner | all labels | rule | labels asked for | mistakes | as many at random |")
    print("| --- | --- | ---: | --- | ---: | ---: | ---: |")
    kept = []
    for data in sys.argv[1:] or SETS:
        for one in measured(data):
            rates = f"{one['share']:.1%} | {one['mistakes']:.1%} | {one['random']:.1%} |".replace("%", " %")
            everything = f"{one['all']:.1%}".replace("%", " %")
            print(f"| {data} | `{one['learner']}` | {everything} | `{one['rule']}` | {rates}", flush=True)
            kept.append(one)
    FILE.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
