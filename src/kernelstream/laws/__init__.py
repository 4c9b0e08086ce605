"""The laws that every kernel, loss and algorithm obeys: a test kit for ours and for yours.

    check_kernel(MyKernel(gamma=0.5))
    check_loss(MyLoss())
    check_algorithm(MyAlgorithm())

`intervals_hold_what_they_say` is the law of a learner of values on streams of the world (`coverage`).

A law is a function of what is checked; it raises AssertionError with the case and the numbers. KERNEL_LAWS, LOSS_LAWS
and ALGORITHM_LAWS hold them by name. Cases are made from a spec's own tasks, losses and parameter names, so a row in
ALGORITHMS is enough to be covered. A law that cannot hold stands in the algorithm, with the reason:

    exempt: ClassVar[dict[str, str]] = {"budget_is_never_exceeded": "it grows by design"}
"""

from .cases import Case, cases, selection
from .checking import ALGORITHM_LAWS, LEARNER_LAWS, applies, cases_by_law, check_algorithm, check_law
from .coverage import STREAMS, intervals_hold_what_they_say
from .kernels import KERNEL_LAWS, check_kernel
from .losses import LOSS_LAWS, check_loss

__all__ = [
    "ALGORITHM_LAWS",
    "KERNEL_LAWS",
    "LEARNER_LAWS",
    "LOSS_LAWS",
    "STREAMS",
    "Case",
    "applies",
    "cases",
    "cases_by_law",
    "check_algorithm",
    "check_kernel",
    "check_law",
    "check_loss",
    "intervals_hold_what_they_say",
    "selection",
]
