"""What a coordinator needs of a cluster: calls of workers' methods, and their answers as they come."""

from typing import Any, NamedTuple, Protocol


class Lost(NamedTuple):
    """The answer of a worker that is gone, or of one that had lost what it was asked about."""

    why: str


class Answer(NamedTuple):
    """worker: its number. value: what came back, or `Lost`; of methods that give a model, a pair: something that stands
    for its parts, and the rest.
    """

    worker: int
    value: Any


class Crew(Protocol):
    """Workers by their numbers. One that is lost comes back as it was made, and must be told everything again."""

    @property
    def size(self) -> int: ...

    def ask(self, worker: int, method: str, *arguments: Any) -> None:
        """Have a method called, after what the worker was asked before."""
        ...

    def next(self) -> Answer:
        """The next answer to come. Requires: one is awaited. What the method raised is raised."""
        ...

    def share(self, value: Any) -> Any:
        """Something that stands for a value among the arguments of several calls, and travels once."""
        ...

    def fetched(self, reference: Any) -> Any:
        """What a reference stands for; `Lost` where it is gone."""
        ...

    def clock(self) -> float:
        """Seconds."""
        ...
