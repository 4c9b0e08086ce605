"""What learns: `Learner`, and what is asked of a combination of several."""

from .learner import DTYPES, Learner
from .protocol import OnlineLearner

__all__ = ["DTYPES", "Learner", "OnlineLearner"]
