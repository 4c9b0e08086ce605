"""Who may work on a model: one who changes it, or several who read it."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from ..numerics.interrupts import held


class Turns:
    """Locks of one model, which a thread that has one may take again. Requires: `learning` before `all`.

    They are taken by `with` statements, which no interrupt comes into. A copy has locks of its own.
    """

    def __init__(self) -> None:
        self.learning = threading.RLock()  # whoever changes the model, for a whole call
        # Readers take one of these each, so that so many read at the same time; who changes the model takes them all.
        self.all = (threading.RLock(), threading.RLock(), threading.RLock(), threading.RLock())

    def __reduce__(self) -> Any:
        return Turns, ()

    @property
    def reading(self) -> Any:
        """A lock under which nobody changes the model."""
        # Threads' numbers are addresses, a page apart at least.
        return self.all[(threading.get_ident() >> 12) % len(self.all)]

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """A context in which nobody else reads or changes the model."""
        a, b, c, d = self.all
        with self.learning, a, b, c, d:
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """`changing`; and no interrupt comes between what is learned and what is noted of it."""
        with self.changing(), held():
            yield
