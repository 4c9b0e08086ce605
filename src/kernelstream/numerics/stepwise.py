"""Long work in steps of some milliseconds each: a generator that yields between them and returns what it comes to."""

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Stepwise: TypeAlias = Generator[None, None, T]


def some_steps(work: Stepwise[T], n: int) -> tuple[T] | None:
    """Take n steps; what it comes to, where that was all of them."""
    for _ in range(n):
        try:
            next(work)
        except StopIteration as end:
            return (end.value,)
    return None


def all_steps(work: Stepwise[T]) -> T:
    while (result := some_steps(work, 1)) is None:
        pass
    return result[0]
