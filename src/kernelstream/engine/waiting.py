"""Rows that were shown by an id and whose labels have not come: a bounded number of them, the oldest are given up."""

from typing import Any

import numpy as np

from ..numerics.rows import LARGEST

MOST = 10_000


def as_id(id: Any) -> str | int:
    """What a row goes by, as a model file keeps it; ValueError for anything else."""
    if isinstance(id, str | int | np.integer):
        return id if isinstance(id, str | int) else int(id)
    raise ValueError(f"id={id!r:.80} must be text or a whole number, which a model file can keep; give str(id).")


class Waiting:
    """Rows by their ids, the newest `most` of them."""

    def __init__(self, most: int = MOST):
        self.most = most
        self._rows: dict[Any, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def ids(self) -> list[Any]:
        """Those of the rows, the oldest first."""
        return list(self._rows)

    def add(self, id: Any, row: np.ndarray) -> None:
        """A row that was shown; one that waits under the same id is given up."""
        self._rows.pop(id, None)
        self._rows[id] = row
        while len(self._rows) > self.most:
            del self._rows[next(iter(self._rows))]

    def row(self, id: Any) -> np.ndarray:
        try:
            return self._rows[id]
        except KeyError:
            raise ValueError(
                f"No row waits for a label under the id {id!r}: it was not shown by predict(x, id=...), has had its "
                f"label, or was given up as one of more than {self.most:,} (waiting=...). Learn it by learn_one(x, y)."
            ) from None

    def drop(self, id: Any) -> None:
        del self._rows[id]

    def copy(self) -> "Waiting":
        """The same rows, which nobody writes into."""
        found = Waiting(self.most)
        found._rows = self._rows.copy()
        return found

    @property
    def n_bytes(self) -> int:
        return sum(row.nbytes for row in self._rows.values())

    def to_json(self) -> dict[str, Any]:
        return {"most": self.most, "ids": list(self._rows)}

    def arrays(self) -> dict[str, np.ndarray]:
        rows = list(self._rows.values())
        values = np.concatenate(rows) if rows else np.zeros(0)
        return {"values": values, "lengths": np.array([len(row) for row in rows], np.int64)}


def waiting_from(written: dict[str, Any], arrays: dict[str, np.ndarray]) -> Waiting:
    """The rows that `to_json` and `arrays` describe; ValueError when they cannot be."""
    values, lengths = arrays["values"].astype(np.float64), arrays["lengths"].astype(np.int64)
    ids, waiting = written["ids"], Waiting(written["most"])
    known = len(set(ids)) == len(ids) == len(lengths) <= waiting.most
    if not (known and (lengths > 0).all() and lengths.sum() == len(values) and (np.abs(values) <= LARGEST).all()):
        raise ValueError("its rows that wait for labels are not rows that can have been shown")
    for id, row in zip(ids, np.split(values, np.cumsum(lengths)[:-1]) if len(ids) else [], strict=True):
        waiting.add(id, row)
    return waiting
