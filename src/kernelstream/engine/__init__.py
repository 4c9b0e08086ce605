"""How a block of rows goes through an algorithm: the contract, the one loop, threads, states and their files."""

from .contract import Algorithm, Common, Shape, common, evaluate, lift, run, run_late, run_scores, step

__all__ = ["Algorithm", "Common", "Shape", "common", "evaluate", "lift", "run", "run_late", "run_scores", "step"]
