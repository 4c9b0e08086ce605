"""The one place where a learner is made of what was found out about its source."""

from ..engine import Algorithm
from ..learner import DTYPES, Learner
from ..sources.survey import Survey
from ..tasks import MULTICLASS


def learner_for(
    found: Survey, algorithm: Algorithm, *, seed: int = 0, dtype: str = DTYPES[0], threads: int | None = None
) -> Learner:
    """A learner of its own for a source: its task, which features and classes may come later, its scaling."""
    return Learner(
        algorithm,
        found.task,
        seed=seed,
        dtype=dtype,
        grow_features=found.sparse,
        grow_classes=found.grow_classes and MULTICLASS in algorithm.tasks,
        scaling=found.scaling,
        threads=threads,
    )
