"""How a block of rows goes through an algorithm: the contract, the one loop, threads, states and their files."""

from .contract import Algorithm, Chunk, Common, Shape, common
from .loop import Examples, evaluate, learn_rows, lift, remember, score_rows, step

__all__ = [
    "Algorithm",
    "Chunk",
    "Common",
    "Examples",
    "Shape",
    "common",
    "evaluate",
    "learn_rows",
    "lift",
    "remember",
    "score_rows",
    "step",
]
