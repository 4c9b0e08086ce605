"""What help() says, composed of docstrings: a parameter that many have is described once."""

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, Self, TypeVar

_Class = TypeVar("_Class", bound=type)

# Parameters of methods, where neither the class nor the method says it otherwise.
WORDS = {
    "X": "rows, (n, features): an array, lists, a sparse matrix or a table of numbers",
    "x": "one row: a vector of features, or a dictionary",
    "y": "the label or the value of each row, (n,)",
    "sample_weight": "how much each row counts, (n,): numbers not less than 0, and 1 where none are given",
    "scores": "(n, K), K of them for each row, as a learner gives them",
    "level": "the chance: 0.5, 0.8, 0.9, 0.95 or 0.99",
    "late": "whether labels will come late",
    "path": "of the file",
    "other": "one of the same kind, with the same settings",
    "params": "names with values",
}


def said_of(text: str, names: list[str]) -> tuple[str, dict[str, str]]:
    """A docstring's prose, and what it says of parameters behind it: ``name: words`` or ``name, other: words``, where a
    line or a sentence begins.
    """
    one = "|".join(map(re.escape, names))
    mentioned = any(f"{name}: " in text for name in names)  # spares most docstrings an expression of their own
    found = list(re.finditer(rf"(?:^|(?<=\. ))((?:{one})(?:, (?:{one}))*): ", text, re.M)) if mentioned else []
    ends = [*(match.start() for match in found), len(text)][1:]
    said = {}
    for match, end in zip(found, ends, strict=True):
        for name in match[1].split(", "):
            said[name] = " ".join(text[match.end() : end].split())
    return text[: found[0].start()].strip() if found else text, said


def explained(**words: str) -> Callable[[_Class], _Class]:
    """For classes: the help of each public method says what its parameters are, in the method's own words (`said_of`),
    in these, which are the class's, or in WORDS; then what is returned, where that is the thing itself, and an example.
    """

    def explain(cls: _Class) -> _Class:
        for name, value in vars(cls).items():
            method = getattr(value, "__func__", value)
            if not name.startswith("_") and inspect.isfunction(method) and method.__doc__:
                method.__doc__ = _taught(method, {**WORDS, **words})
        return cls

    return explain


def constructed(**words: str) -> Callable[[_Class], _Class]:
    """For classes: their own help says what the parameters of the constructor are, in these words, then an example."""

    def construct(cls: _Class) -> _Class:
        cls.__doc__ = _taught(cls, words)
        return cls

    return construct


def _taught(method: Any, words: dict[str, str]) -> str:
    prose, _, example = inspect.cleandoc(method.__doc__).partition("\n\n>>> ")
    names = [name for name in inspect.signature(method).parameters if name not in ("self", "cls")]
    prose, said = said_of(prose, names)
    words = words | said
    lines = [
        line
        for name in names
        if name in words
        for line in textwrap.wrap(f"{name} : {words[name]}", 112, subsequent_indent="    ", break_long_words=False)
    ]
    parts = [prose]
    parts += ["Parameters\n----------\n" + "\n".join(lines)] if lines else []
    parts += ["Returns\n-------\nitself"] if method.__annotations__.get("return") is Self else []
    parts += [f"Examples\n--------\n>>> {example}"] if example else []
    return "\n\n".join(parts)
