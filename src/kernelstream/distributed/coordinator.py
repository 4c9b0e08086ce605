"""The coordinator: hands out rows, has models synchronised, and keeps count; the same on Ray and with virtual clocks.

A round: each worker learns with its own copy of the synchronised model, whoever is free takes the next rows. Then the
copies become one, in pairs (`Learner.merge` since the model they went on from), which all of them adopt. Only then do
rows and what was measured of them count: what a worker has learned that is lost in between, others learn.

What is settled on first rows one worker settles alone, and learns what a model makes most of its mistakes on: there
a model of averages falls behind, and nothing is gained by many.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..evaluate.settings import flat
from ..evaluate.trace import Checkpoint, Trace
from ..learner import Learner
from ..metrics import Metric
from ..sources import Source
from ..sources.base import Notice, summed
from ..sources.pieces import told_first, too_few
from ..tasks import Classification
from .crew import Answer, Crew, Lost
from .ledger import Ledger, Work
from .worker import Learned, Parts, Task, learner_of

# Rows that a worker learns between two synchronisations, where nobody says: a share of what is known, so that the first
# models are soon those of all, within limits.
_LEAST_ROWS, _MOST_ROWS, _SHARE = 64, 2**17, 3
_ALONE = 4096  # rows that one learns before others do; what they bring stands in docs/scale.md
# Rows of a call: half of a worker's share of what is left of the round, so that who is slower keeps nobody waiting, and
# at least what takes so long that the call itself, of a millisecond, is little beside it.
_SHARES, _LEAST_SECONDS = 2, 0.01
_LEAST_STEP = 256  # where nobody knows how fast a worker is


class Plan(NamedTuple):
    """When models are synchronised: after so many rows a worker (None: as it pays), or, looked at as often, when one
    has moved by more than `apart` in the kernel's space.
    """

    every: int | None = None
    apart: float | None = None

    def alone(self, known: int) -> int:
        """Rows that one worker learns before others do."""
        return 0 if self.every is not None or self.apart is not None else max(0, _ALONE - known)

    def rows(self, known: int, workers: int) -> tuple[float, int]:
        """Rows that the workers learn in the next round, and at most in a call."""
        if workers > 1 and self.alone(known) > 0:
            return self.alone(known), self.alone(known)
        each = min(max(known // (_SHARE * workers), _LEAST_ROWS), _MOST_ROWS) if self.every is None else self.every
        return math.inf if self.apart is not None else each * workers, each

    def step(self, left: float, most: int, workers: int, speed: float) -> int:
        """Rows of the next call, of a worker that learns so many a second (0: nobody knows), where so many are left of
        the round.
        """
        if math.isinf(left) or workers == 1:
            return int(min(left, most))
        least = speed * _LEAST_SECONDS if speed > 0.0 else _LEAST_STEP
        return int(min(max(left / (_SHARES * workers), least), most, left))


class Asked(NamedTuple):
    """So many rows of this work."""

    work: Work
    rows: int


@dataclass
class WorkerRecord:
    """What a worker did. seconds: of learning and reading. lost: how often it was gone."""

    place: str = ""
    rows: int = 0
    seconds: float = 0.0
    lost: int = 0

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0


class Synchronisation(NamedTuple):
    """After so many rows and seconds, how long it took, how many bytes were sent, how far the farthest had moved; 0
    where nobody asked.
    """

    rows: int
    seconds: float
    took: float
    bytes: int
    moved: float


@dataclass
class Result:
    """What came of training: the model, its trace (a checkpoint a synchronisation, seconds of the clock), what each
    worker did, the synchronisations. source: what was read, with all words that became features.
    """

    model: Learner
    trace: Trace
    source: Source
    workers: list[WorkerRecord] = field(default_factory=list)
    synchronisations: list[Synchronisation] = field(default_factory=list)
    notices: tuple[str, ...] = ()  # what one should know, a sentence each
    skipped: int = 0  # rows that were left out: they could not be read, or have no label

    @property
    def bytes(self) -> int:
        """Bytes of models that were sent."""
        return sum(one.bytes for one in self.synchronisations)


class Coordinator:
    """model: what all begin with. pieces: what is learned, of `source`. head: whose first rows were looked at.
    metrics: what is measured, the last one the headline.

    on_round: called after each synchronisation, with all consistent. believe: called with the classes that come on the
    way and how many there are then, to refuse them.
    """

    def __init__(
        self,
        crew: Crew,
        model: Learner,
        pieces: Sequence[Source],
        metrics: Sequence[Metric],
        plan: Plan,
        *,
        source: Source,
        head: Source,
        on_round: Callable[["Coordinator"], None] | None = None,
        believe: Callable[[list[Any], int], None] | None = None,
    ):
        self.crew, self.plan, self.pieces = crew, plan, list(pieces)
        self._shared = [crew.share(piece) for piece in self.pieces]
        self._task = crew.share(Task(list(metrics), head, plan.apart is not None))
        self.ledger = Ledger(len(self.pieces))
        self._parts: Parts = model.to_parts()
        self._metrics = list(metrics)
        self.cumulative = [metric.fresh(_classes(model)) for metric in metrics]
        trace = Trace(source.name, model.name, model.task.name, model.seed, metrics[-1].name)
        self.result = Result(model, trace, source, [WorkerRecord() for _ in range(crew.size)])
        self._on_round, self._believe = on_round, believe
        self._busy: dict[int, tuple[str, Any]] = {}  # by worker: the method it was asked for, and of what
        self._version = 0  # of the synchronised model
        self._waiting: set[int] = set(range(crew.size))  # who has to adopt it before it learns
        self._began = crew.clock()
        self._seconds = 0.0  # of an earlier life
        self._strangers: list[Any] = []
        self._moved = 0.0
        # By piece: rows that were left out, and what there is to tell of it. A pass that is repeated counts anew.
        self._told: dict[int, tuple[int, dict[str, Notice]]] = {}
        self._first, self._alone = told_first(head), 0

    def run(self) -> Result:
        """Learn all rows of all pieces."""
        reference = self.crew.share(self._parts)
        self._assemble(reference)
        while True:
            self._round(reference)
            workers = [w for w in range(self.crew.size) if self.ledger.ahead(w) > 0]
            if not workers and self.ledger.over:
                self._tell()
                return self.result
            reference = self._synchronise(workers, reference)

    @property
    def seconds(self) -> float:
        """Of the clock, since all were there, also in an earlier life."""
        return self._seconds + self.crew.clock() - self._began

    def _assemble(self, reference: Any) -> None:
        """Wait until all are there and have compiled what they will run, or one of them is lost."""
        for worker in range(self.crew.size):
            self._ask(worker, "adopt", self._version, self._task, reference)
        while self._busy and not any(record.lost for record in self.result.workers):
            self._answered(self.crew.next())
        self._began = self.crew.clock()

    def _round(self, reference: Any) -> None:
        """Have rows learned until there are enough for a synchronisation."""
        settling, known = not self.result.model.is_settled, self.ledger.rows
        alone = settling or (self.crew.size > 1 and self.plan.alone(known) > 0)
        workers = 1 if alone else self.crew.size
        left, most = self.plan.rows(known, 1 if settling else self.crew.size)
        if settling and self.crew.size > 1:
            most = min(most, _LEAST_STEP)  # all learn as soon as it is settled
        stop, self._moved, self._strangers = False, 0.0, []
        while True:
            for worker in range(self.crew.size):
                if worker in self._busy:
                    continue
                if worker in self._waiting:
                    if not self.ledger.over:
                        self._ask(worker, "adopt", self._version, self._task, reference)
                elif left > 0 and not stop and not (alone and self._others_learn(worker)):
                    absent = set(range(self.crew.size)) - {worker} if alone else self._waiting
                    work = self.ledger.take(worker, absent)
                    if work is not None:
                        speed = self.result.workers[worker].rows_per_second
                        asked = Asked(work, self.plan.step(left, most, workers, speed))
                        left -= asked.rows
                        self._ask(worker, "learn", asked, work, self._shared[work.piece], asked.rows)
            enough = left <= 0 or stop or self.ledger.over
            if enough and not self._busy_with("learn"):
                return
            answer = self.crew.next()
            method, learned, asked = self._answered(answer)
            if method == "learn":
                left += asked.rows - (0 if isinstance(learned, Lost) else learned.rows)
                if not isinstance(learned, Lost):
                    stop = self._take(answer.worker, asked.work, learned, settling=settling, alone=alone) or stop

    def _others_learn(self, worker: int) -> bool:
        """Whether somebody else is at it already."""
        others = {*self._busy_with("learn"), *(w for w in range(self.crew.size) if self.ledger.ahead(w) > 0)}
        return bool(others - {worker})

    def _busy_with(self, method: str) -> list[int]:
        return [worker for worker, (asked, _) in self._busy.items() if asked == method]

    def _take(self, worker: int, work: Work, learned: Learned, *, settling: bool, alone: bool) -> bool:
        """Note what a worker has learned; whether the round ends with it."""
        self.ledger.note(worker, work, learned.rows, ended=learned.ended)
        record = self.result.workers[worker]
        record.rows, record.seconds = record.rows + learned.rows, record.seconds + learned.seconds
        record.place = learned.place
        self._alone += learned.rows if alone else 0
        self._told[work.piece] = learned.skipped, learned.told
        self._strangers += [label for label in learned.strangers if label not in self._strangers]
        self._moved = max(self._moved, learned.moved)
        far = self.plan.apart is not None and learned.moved > self.plan.apart
        return far or bool(learned.strangers) or (settling and learned.settled)

    def _ask(self, worker: int, method: str, of: Any, *arguments: Any) -> None:
        self._busy[worker] = method, of
        self.crew.ask(worker, method, *arguments)

    def _answered(self, answer: Answer) -> tuple[str, Any, Any]:
        """What was asked for, what came back, and of what. A worker that is lost has to begin anew, and so has one that
        took so long to adopt a model that it is no longer the newest.
        """
        method, of = self._busy.pop(answer.worker)
        if isinstance(answer.value, Lost):
            self._lose(answer.worker)
        elif method == "adopt" and of == self._version:
            self._waiting.discard(answer.worker)
        return method, answer.value, of

    def _lose(self, worker: int) -> None:
        record = self.result.workers[worker]
        record.rows -= self.ledger.ahead(worker)
        record.lost += 1
        self.ledger.give_back(worker)
        self._waiting.add(worker)

    def _synchronise(self, workers: list[int], reference: Any) -> Any:
        """One model of those of these workers; what stands for it, or for the one before where it failed."""
        began = self.crew.clock()
        for worker in workers:
            self._ask(worker, "give", None)
        given: dict[int, tuple[Any, Any]] = {}
        while self._busy_with("give"):
            answer = self.crew.next()
            method, value, _ = self._answered(answer)
            if method == "give" and not isinstance(value, Lost):
                given[answer.worker] = value
        merged, sent = self._as_one(given)
        if merged is not None and not self._strangers:
            self._hand_out(merged)
        parts = Lost("") if merged is None else self.crew.fetched(merged)
        now = self.crew.clock()
        if isinstance(parts, Lost):
            for worker in given:
                self._lose(worker)
            self._version += 1  # who has adopted what is lost adopts again
            return reference
        model = learner_of(parts)
        self._keep(model, given)
        if self._strangers:
            merged = self.crew.share(self._announced(model))
            self._hand_out(merged)
        size = sum(array.nbytes for array in parts[1].values())
        self.result.synchronisations.append(
            Synchronisation(self.ledger.rows, self.seconds, now - began, size * (sent + self.crew.size), self._moved)
        )
        if self._on_round is not None:
            self._on_round(self)
        return merged

    def _hand_out(self, model: Any) -> None:
        """Have all adopt a model, those that are at something else later, while this process goes on."""
        self._version += 1
        self._waiting = set(range(self.crew.size))
        if not self.ledger.over:
            for worker in self._waiting - self._busy.keys():
                self._ask(worker, "adopt", self._version, self._task, model)

    def _as_one(self, given: dict[int, tuple[Any, Any]]) -> tuple[Any | None, int]:
        """What stands for the merged model, None where there is none or a part of it was lost; how often one was sent.

        Neighbours merge in pairs, then pairs of these.
        """
        models, sent = [(worker, held[0]) for worker, held in sorted(given.items())], 0
        while len(models) > 1:
            left = models[len(models) // 2 * 2 :]
            for (worker, _), (_, theirs) in zip(models[0::2], models[1::2], strict=False):
                self._ask(worker, "merged", None, theirs)
                sent += 1
            models, lost = [], False
            while self._busy_with("merged"):
                answer = self.crew.next()
                method, value, _ = self._answered(answer)
                if method == "merged":
                    lost = lost or isinstance(value, Lost)
                    models.append((answer.worker, None if lost else value[0]))
            if lost:
                return None, sent
            models = sorted([*models, *left], key=lambda one: one[0])
        return (models[0][1] if models else None), sent

    def _announced(self, model: Learner) -> Parts:
        """The model, which knows the classes that workers have met."""
        assert isinstance(model.task, Classification)
        new = [label for label in self._strangers if not model.task.positions([label])[1][0]]
        if self._believe is not None:
            self._believe(new, len(model.task.classes) + len(new))
        model.announce(new)
        return model.to_parts()

    def _keep(self, model: Learner, given: dict[int, tuple[Any, Any]]) -> None:
        """All that was given counts."""
        self.ledger.keep(given)
        window = [metric.fresh(_classes(model)) for metric in self._metrics]
        for _, states in given.values():
            for metric, state in zip(window, states, strict=True):
                one = metric.fresh().restore(state)
                one.classes = metric.classes
                metric.merge(one)
        for metric, one in zip(self.cumulative, window, strict=True):
            metric.classes = one.classes
            metric.merge(one)
        trace, self.result.model = self.result.trace, model
        found, now = ({m.name: m.value for m in metrics} for metrics in (self.cumulative, window))
        trace.last = Checkpoint(self.ledger.rows, found, now, self.seconds, 0.0, model.size, model.n_bytes)
        trace.checkpoints.append(trace.last)
        trace.parameters = flat(model.spec)
        self._tell()

    def _tell(self) -> None:
        """Note what a reader should know of what was read, and of who read it."""
        told = [self._told[piece] for piece in sorted(self._told)]
        said = [str(notice) for notice in summed([self._first, *(notices for _, notices in told)]).values()]
        idle = sum(record.rows == 0 for record in self.result.workers)
        if idle and self._alone:
            what = "the first ones, which a model makes most of its mistakes on (every=N lets all learn from then on)"
            said.append(f"one worker learned {self._alone:,} rows alone, {what}")
        self.result.skipped = sum(skipped for skipped, _ in told)
        self.result.notices = (*said, *too_few(self.pieces, self.crew.size))

    def state(self) -> dict[str, Any]:
        """Where it stands, as a JSON value: with the model, all that is needed to go on."""
        return {
            "ledger": self.ledger.state(),
            "metrics": [metric.state() for metric in self.cumulative],
            "seconds": self.seconds,
            "checkpoints": [one.to_json() for one in self.result.trace.checkpoints],
            "synchronisations": [list(one) for one in self.result.synchronisations],
            "told": {str(piece): told for piece, told in self._told.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`, with its model. Requires: the same pieces and metrics."""
        self.ledger.restore(state["ledger"])
        for metric, saved in zip(self.cumulative, state["metrics"], strict=True):
            metric.restore(saved)
        self._seconds = state["seconds"]
        trace = self.result.trace
        trace.checkpoints[:] = [Checkpoint.from_json(one) for one in state["checkpoints"]]
        trace.last = trace.checkpoints[-1]
        for piece, (skipped, told) in state["told"].items():
            self._told[int(piece)] = skipped, {about: Notice(*notice) for about, notice in told.items()}
        self.result.synchronisations[:] = [Synchronisation(*one) for one in state["synchronisations"]]


def _classes(model: Learner) -> Any:
    return model.task.classes if isinstance(model.task, Classification) else None
