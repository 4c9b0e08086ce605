"""Which rows have been learned: each row of each piece is in the synchronised model once, whoever is lost."""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple


class Work(NamedTuple):
    """Rows of a piece that come next: its number, and how many of its rows were learned before."""

    piece: int
    skip: int


class Ledger:
    """How far each piece is: in the synchronised model (`kept`), and beyond it in the model of a worker.

    What a worker has learned since the last synchronisation is its own until `keep`: `give_back` makes it rows that
    nobody has learned.
    """

    def __init__(self, pieces: int):
        self.kept: dict[int, int] = {}  # rows of a piece that was begun
        self.ended: set[int] = set()
        self.rows = 0  # of all pieces, in the synchronised model
        self._free = deque(range(pieces))
        self._ahead: dict[int, dict[int, int]] = {}  # by worker and piece: how far a piece is there
        self._ending: dict[int, set[int]] = {}
        self._open: dict[int, int] = {}  # the piece that a worker is at

    def take(self, worker: int, absent: Iterable[int] = ()) -> Work | None:
        """What a worker learns next: the piece that it has begun, one that is free, or one that an absent worker has
        begun. None when there is none.
        """
        if worker not in self._open:
            for other in absent:
                if not self._free:
                    self.give_back(other)
            if not self._free:
                return None
            self._open[worker] = self._free.popleft()
        piece = self._open[worker]
        return Work(piece, self._ahead.get(worker, {}).get(piece, self.kept.get(piece, 0)))

    def note(self, worker: int, work: Work, rows: int, *, ended: bool) -> None:
        """A worker has learned so many rows of a piece, and perhaps its last."""
        self._ahead.setdefault(worker, {})[work.piece] = work.skip + rows
        if ended:
            self._ending.setdefault(worker, set()).add(work.piece)
            del self._open[worker]

    def ahead(self, worker: int) -> int:
        """Rows that a worker has learned since the last synchronisation."""
        return sum(rows - self.kept.get(piece, 0) for piece, rows in self._ahead.get(worker, {}).items())

    def keep(self, workers: Iterable[int]) -> None:
        """What these workers have learned is in the synchronised model."""
        for worker in workers:
            self.rows += self.ahead(worker)
            self.kept |= self._ahead.pop(worker, {})
            self.ended |= self._ending.pop(worker, set())

    def give_back(self, worker: int) -> None:
        """What a worker has learned since the last synchronisation is lost."""
        lost = [*self._ending.pop(worker, ()), *([self._open.pop(worker)] if worker in self._open else ())]
        self._ahead.pop(worker, None)
        self._free.extendleft(sorted(lost, reverse=True))

    @property
    def over(self) -> bool:
        """Whether all rows are in the synchronised model, or in that of a worker."""
        return not (self._free or self._open)

    def state(self) -> dict[str, Any]:
        """What is in the synchronised model, as a JSON value."""
        begun = {str(piece): rows for piece, rows in self.kept.items() if piece not in self.ended}
        ended = {str(piece): self.kept[piece] for piece in self.ended}
        return {"begun": begun, "ended": ended}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`. Requires: the same pieces."""
        known = {int(piece): int(rows) for kind in ("begun", "ended") for piece, rows in state[kind].items()}
        if not set(known) <= set(self._free):
            raise ValueError(f"pieces {sorted(known)} were learned, and there are {len(self._free)}; give the same.")
        self.kept, self.ended = known, {int(piece) for piece in state["ended"]}
        self.rows = sum(known.values())
        self._free = deque(piece for piece in self._free if piece not in self.ended)
