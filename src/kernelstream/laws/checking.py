"""Which laws are tried on which cases of an algorithm; all of them at once."""

from collections.abc import Callable, Sequence

from ..engine import Algorithm
from ..numerics.compile import INTERPRETED
from ..tasks import BINARY, MULTICLASS
from . import algorithms, learners
from .cases import Case, cases, one_a_task, reference_of, selected

Law = Callable[[Case], None]

# Their subject is Learner, which knows neither kernels nor losses.
LEARNER_LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        learners.answers_before_learning,
        learners.bad_input_is_refused,
        learners.a_row_at_a_time_has_the_bits_of_a_block,
        learners.a_snapshot_stands_apart,
        learners.merge_with_an_empty_learner_is_the_identity,
        learners.merge_refuses_strangers,
        learners.nothing_is_recompiled,
        learners.settling_does_not_depend_on_the_cut,
    )
}

ALGORITHM_LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        algorithms.equals_its_reference,
        algorithms.float32_follows_float64,
        algorithms.block_size_has_no_effect,
        algorithms.threads_have_no_effect,
        algorithms.sparse_equals_dense,
        algorithms.resumes_bit_for_bit,
        algorithms.budget_is_never_exceeded,
        algorithms.memory_is_flat,
        algorithms.scores_change_nothing,
        algorithms.scores_are_what_learning_predicts,
        algorithms.limit_is_reached,
        algorithms.merge_is_the_weighted_sum,
        algorithms.late_features_count_as_zero_before,
        algorithms.late_classes_add_an_output,
        algorithms.a_third_class_keeps_the_margin,
        algorithms.weight_zero_learns_nothing,
        algorithms.weight_scales_the_step,
    )
} | LEARNER_LAWS

_REFERENCE = algorithms.equals_its_reference.__name__

_APPLIES: dict[str, Callable[[Case], bool]] = {
    _REFERENCE: lambda case: reference_of(case.spec) is not None,
    learners.settling_does_not_depend_on_the_cut.__name__: lambda case: case.settling().spec.depends_on_data(case.task),
    algorithms.budget_is_never_exceeded.__name__: lambda case: getattr(case.spec, "budget", None) is not None,
    algorithms.memory_is_flat.__name__: lambda case: case.spec.bounded,
    algorithms.limit_is_reached.__name__: lambda case: any(algorithms.limits(case.spec)),
    algorithms.late_classes_add_an_output.__name__: lambda case: case.task == MULTICLASS,
    algorithms.a_third_class_keeps_the_margin.__name__: lambda case: (
        case.task == MULTICLASS and BINARY in case.spec.tasks and case.loss in case.spec.losses(BINARY)
    ),
    learners.nothing_is_recompiled.__name__: lambda case: not INTERPRETED,
}


def applies(law: str, case: Case) -> bool:
    """Whether a law says anything about a case. ValueError: the spec is exempt from a law that does not exist."""
    unknown = [name for name in case.spec.exempt if name not in ALGORITHM_LAWS]
    if unknown:
        known = ", ".join(ALGORITHM_LAWS)
        raise ValueError(f"{case.spec.name} is exempt from {', '.join(unknown)}, which is no law; laws are {known}.")
    return law not in case.spec.exempt and (law not in _APPLIES or _APPLIES[law](case))


def cases_by_law(algorithm: Algorithm | type[Algorithm]) -> dict[str, list[Case]]:
    """The cases that each law is tried on, none or some: the reference on all of them; a law of Learner on one a task;
    the others on some that cover kernels and losses.
    """
    everything = cases(algorithm)
    some = selected(everything)
    found = {}
    for law in ALGORITHM_LAWS:
        kept = [case for case in (everything if law == _REFERENCE else some) if applies(law, case)]
        found[law] = one_a_task(kept) if law in LEARNER_LAWS else kept
    return found


def check_law(law: str, cases: Sequence[Case]) -> None:
    """A law in each of the cases. AssertionError: it names those in which the law fails, and the first one's reason."""
    failures = []
    for case in cases:
        try:
            ALGORITHM_LAWS[law](case)
        except Exception as error:
            failures.append((case, error))
    if failures:
        names, (_, first) = "; ".join(str(case) for case, _ in failures), failures[0]
        raise AssertionError(f"{law} fails in {len(failures)} of {len(cases)} cases ({names}): {first}") from first


def check_algorithm(algorithm: Algorithm | type[Algorithm]) -> None:
    """Every law of algorithms, each in its cases."""
    for law, kept in cases_by_law(algorithm).items():
        check_law(law, kept)
