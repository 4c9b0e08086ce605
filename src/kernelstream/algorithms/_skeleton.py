"""Skeleton: the file to copy when you add an algorithm; complete (kernel least mean squares) and run by the tests.

Liu, Pokharel, Principe: The Kernel Least-Mean-Square Algorithm (2008), eq. 13-15.

    e = y - f(x);    f <- f + eta e k(x, .)

Remarks. Say here where you deviate from the paper and what you chose where it is silent. This one is unbounded.

Symbols: eta learning_rate, e minus the slope of the squared loss.

To add an algorithm:
1. copy this file to ``algorithms/<name>.py`` and write the paper's update into `step`;
2. copy ``reference/_skeleton.py`` to ``reference/<class in lower case>.py`` and write it once more, in NumPy and the
   paper's letters;
3. name it in ``algorithms/__init__.py`` (import, ``__all__``, ``_FILES``, ``_ROWS``, ``PURPOSES``) and in the package's
   ``__init__.py`` (import, ``__all__``): command line, scikit-learn face and laws follow. CONTRIBUTING has the rest.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..engine import step
from ..kernels import KernelRecord
from ..losses import LossRecord, Squared, slope
from ..numerics import expansion
from ..parameters import positive
from ..tasks import REGRESSION
from ._expansion import ExpansionAlgorithm, ask_for_room, expansion_record


@expansion_record
class SkeletonRecord(NamedTuple):
    """What compiled code reads. Its type is how the engine finds an algorithm's functions: one record an algorithm.

    `expansion_record` brings `evaluate`: scores = f(x) for K outputs, with the kernel values left in `scratch.row` for
    the step to use. Scores that are something else have an `@evaluate.register(SkeletonRecord)`, as in NORMA.
    """

    kernel: KernelRecord
    loss: LossRecord
    learning_rate: float


# The spec: public, a dataclass of parameters, named as CONTRIBUTING's table has it (its docstring says `name: words` of
# those that its bases do not have; a learner's name has at most 17 letters). `ExpansionAlgorithm` brings a state (f, t)
# with birth, growth, merging and model files; `FeatureAlgorithm` one of weights on lifted rows, as in FOGD. Without a
# base, write `init`, `scratch`, `grow`, `n_stored`, `merge`; `outline` and `limits` say what a file may hold. A state
# is a NamedTuple of arrays (scalars 0-d) that holds only what the next step needs.
@dataclass
class Skeleton(ExpansionAlgorithm):
    learning_rate: float = 0.5

    name: ClassVar[str] = "skeleton"
    paper: ClassVar[str] = "Liu, Pokharel, Principe 2008"
    tasks: ClassVar[tuple[str, ...]] = (REGRESSION,)
    bounded: ClassVar[bool] = False  # True promises that memory stays flat, and the laws hold you to it

    def check(self) -> None:
        super().check()
        positive(learning_rate=self.learning_rate)

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared",)

    def lower(self, task: str, dtype: Any) -> SkeletonRecord:
        return SkeletonRecord(self.kernel.lower(dtype), Squared().lower(task, dtype), float(self.learning_rate))


# What does not depend on the model, such as features of a fixed map, is computed for a chunk of rows at once by
# `@lift.register(SkeletonRecord)`, as in FOGD, and `lifts_ahead` lets several threads do so. Here there is nothing of
# the kind, so both are left out.


@step.register(SkeletonRecord)
def _(record, state, scratch, x, target, weight, scores):
    """Learn from (x, target), whose scores are known; return the loss. A weight multiplies the step."""
    g = scratch.common.slope
    state.t[()] += 1
    loss = slope(record.loss, target, scores, g)
    if g[0] != 0 and weight > 0.0:
        expansion.add(record.kernel, state.f, x, -record.learning_rate * weight, g, scratch.row)
        # Python has its turn (`prepare`, which makes room) before the next row when a step asks for it.
        ask_for_room(state.f, 1, scratch)
    return loss
