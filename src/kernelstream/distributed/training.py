"""`train`: a learner on several workers, from files, arrays or a Ray Dataset."""

import contextlib
import os
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import as_algorithm
from ..engine import Algorithm
from ..evaluate.building import learner_for
from ..evaluate.settings import refuse_other
from ..learner import Learner
from ..metrics import Metric, default_metrics
from ..sources import ArraySource, ChainedSource, Peekable, Source, open_source
from ..sources.pieces import cut, knowing, looked_at, place_of, words_of
from ..sources.survey import Survey, survey
from ..tasks import Classification
from .coordinator import Coordinator, Plan, Result
from .crew import Crew, Lost

_TRIED_ROWS = 300  # on which most learners have settled what they settle


class Checkpoints(NamedTuple):
    """The file in which training is kept after each synchronisation, whether to go on from it, and what it must have
    been begun with (`asked`).
    """

    path: str | os.PathLike[str]
    resume: bool = False
    asked: dict[str, Any] | None = None


def train(
    source: Any,
    learner: Learner | Algorithm | str = "auto",
    *,
    workers: int | None = None,
    every: int | None = None,
    apart: float | None = None,
    metrics: Sequence[Metric] | None = None,
    label: str | int | None = None,
    address: str | None = None,
    checkpoints: Checkpoints | None = None,
    on_round: Callable[[Coordinator], None] | None = None,
) -> Result:
    """Learn a source on several workers, whose models become one again and again; every row is predicted by its
    worker's model before any model learns it.

    Parameters
    ----------
    source : a path or pattern, a `Source`, a pair of arrays ``(X, y)``, a list of these, or a Ray Dataset
    learner : a `Learner`, which stays as it is, or what to make one of
    workers : how many; as many as the cluster has cores
    every : rows that a worker learns between two synchronisations; where nobody says, one worker learns 4,096 rows,
        then each a third of what is known, up to 131,072
    apart : synchronise only when a model has moved by more than this in the kernel's space, which is looked at after
        `every` rows (dynamic averaging)
    metrics : what to measure (`default_metrics` of the task); the last one is the headline
    label : the column of the labels, of a Ray Dataset and of files
    address : of a Ray cluster, "auto" or "ray://host:port". Without one, Ray as it runs already, or on this machine
    checkpoints : where to keep it on the way, and to go on from
    on_round : called after each synchronisation, with all consistent

    Returns
    -------
    Result
        model, trace, what each worker did, the synchronisations.
    """
    from .on_ray import RayCrew, cluster

    plan = Plan(_whole("every", every), apart)
    if apart is not None and not apart > 0.0:
        raise ValueError(f"apart={apart} must be above 0, a distance in the kernel's space.")
    workers = _whole("workers", workers)
    algorithm = learner if isinstance(learner, Learner) else as_algorithm(learner)
    rows = _as_stream(source, label)
    model, found = _begun(algorithm, rows)
    _require_mergeable(model)
    judges = list(default_metrics(model.task.name) if metrics is None else metrics)
    with cluster(address, workers) as size, contextlib.closing(RayCrew(size)) as crew:
        rows = _with_words(rows, crew)
        pieces = cut(rows, size)
        kept = None if checkpoints is None else _Kept(checkpoints, pieces)
        state = None if kept is None else kept.resumed()
        coordinator = Coordinator(
            crew,
            model if state is None else state.model,
            pieces,
            judges,
            plan,
            source=rows,
            head=looked_at(rows)[0],
            on_round=_both(None if kept is None else kept.keep, on_round),
            believe=None if found is None else lambda new, n: found.believe(rows.name, new, n),
        )
        if state is not None:
            coordinator.restore(state.state)
        return coordinator.run()


def _whole(name: str, value: int | None) -> int | None:
    if value is not None and not (isinstance(value, Integral) and value >= 1):
        raise ValueError(f"{name}={value!r} must be a whole number, at least 1; leave it out to have it chosen.")
    return value


def _as_stream(source: Any, label: str | int | None) -> Source:
    if type(source).__module__.startswith("ray.data"):
        from .datasets import dataset_source

        return dataset_source(source, label)
    if isinstance(source, tuple) and len(source) == 2 and all(hasattr(part, "shape") for part in source):
        return ArraySource(*source)
    if isinstance(source, list | tuple):
        return ChainedSource([_as_stream(one, label) for one in source])
    if isinstance(source, Source):
        return source
    if not isinstance(source, str | os.PathLike):
        what = "a path, a Source, a pair of arrays (X, y), a list of these or a Ray Dataset"
        raise ValueError(f"source is {type(source).__name__}, and must be {what}.")
    options: dict[str, Any] = {} if label is None else {"label": label}
    return open_source(source, **options)


def _begun(learner: Learner | Algorithm, rows: Source) -> tuple[Learner, Survey | None]:
    """The learner to begin with, and what was found out for it."""
    if not isinstance(learner, Learner):
        found = survey(Peekable(rows), all_rows=False)
        return learner_for(found, learner, threads=1), found
    if learner.columns is not None:
        raise ValueError("Workers read features, and this learner's rows have names; give it rows without.")
    model = learner.snapshot()
    model.threads = 1
    return model, None


def _require_mergeable(model: Learner) -> None:
    """Refuse by name a learner whose copies could not become one, before anything is learned."""
    X = np.random.default_rng(0).normal(size=(_TRIED_ROWS, 2))
    labels = model.task.classes[:2] if isinstance(model.task, Classification) else np.array([-1.0, 1.0])
    y = labels[(X[:, 0] > 0).astype(int)]
    twin = Learner(model.algorithm, model.task, dtype=model.dtype, threads=1)
    twin.learn(X, y)
    if not twin.is_settled:
        return
    forks = [twin.snapshot() for _ in range(2)]
    for fork, some in zip(forks, (slice(0, 150), slice(150, 300)), strict=True):
        fork.learn(X[some], y[some])
    try:
        forks[0].merge(forks[1], since=twin)
    except ValueError as error:
        raise ValueError(f"{model.name} cannot learn on several workers. {error}") from None


def _with_words(rows: Source, crew: Crew) -> Source:
    """The source with all words known that become features, after a pass ahead where they come one after another."""
    head = looked_at(rows)[0]
    return knowing(rows, _gathered(crew, cut(rows, crew.size), head)) if words_of(head) else rows


def _gathered(crew: Crew, pieces: Sequence[Source], head: Source) -> dict[str, Any]:
    """How words become features: in the order in which pieces bring them. A piece of a worker that is lost is read
    again.
    """
    found: dict[int, list[list[str]]] = {}
    left, asked = list(range(len(pieces))), dict[int, int]()
    told, idle = crew.share(head), list(range(crew.size))
    while left or asked:
        while left and idle:
            worker, piece = idle.pop(), left.pop()
            asked[worker] = piece
            crew.ask(worker, "words", crew.share(pieces[piece]), told)
        answer = crew.next()
        piece = asked.pop(answer.worker)
        idle.append(answer.worker)
        if isinstance(answer.value, Lost):
            left.append(piece)
        else:
            found[piece] = answer.value
    words = dict.fromkeys(tuple(word) for piece in sorted(found) for word in found[piece])
    known: dict[str, Any] = head.encoding
    return known | {"categories": [list(word) for word in words]}


class _State(NamedTuple):
    model: Learner
    state: dict[str, Any]


class _Kept:
    """A checkpoint: the model file with the coordinator's state in its header."""

    def __init__(self, checkpoints: Checkpoints, pieces: Sequence[Source]):
        self.checkpoints = checkpoints
        self.header: dict[str, Any] = {
            "asked": checkpoints.asked or {},
            "pieces": [place_of(piece) for piece in pieces],
        }

    def resumed(self) -> _State | None:
        path = self.checkpoints.path
        if not self.checkpoints.resume or not os.path.exists(path):
            return None
        model, header = Learner.load_with_header(path)
        if "training" not in header:
            raise ValueError(
                f"{path} is a model, but not a checkpoint of several workers, and none can go on from it; name another "
                "file, or remove it."
            )
        refuse_other(path, header["asked"], self.header["asked"])
        if header["pieces"] != self.header["pieces"]:
            raise ValueError(
                f"{path} was begun with other files, or other pieces of them: {len(header['pieces'])}, not "
                f"{len(self.header['pieces'])}; give the same files and as many workers, or begin anew."
            )
        model.threads = 1
        return _State(model, header["training"])

    def keep(self, coordinator: Coordinator) -> None:
        coordinator.result.model.save(self.checkpoints.path, training=coordinator.state(), **self.header)


def _both(
    first: Callable[[Coordinator], None] | None, second: Callable[[Coordinator], None] | None
) -> Callable[[Coordinator], None]:
    def call(coordinator: Coordinator) -> None:
        for one in (first, second):
            if one is not None:
                one(coordinator)

    return call
