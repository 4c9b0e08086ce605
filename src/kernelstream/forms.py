"""Forms: what a JSON value of a file must be like, held against it place by place before anything is made of it.

A form is called with a value and the words for its place; ValueError names the place, the value and what must stand
there. What several places must agree about is for who reads them.
"""

import math
import re
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

Form: TypeAlias = Callable[[Any, str], None]

_MOST = 2**63 - 1


def _leaf(words: str, fits: Callable[[Any], bool]) -> Form:
    def hold(value: Any, place: str) -> None:
        if not fits(value):
            raise ValueError(f"its {place} is {value!r:.60}, where {words} must stand")

    return hold


text = _leaf("text", lambda value: isinstance(value, str))
truth = _leaf("true or false", lambda value: isinstance(value, bool))
hexadecimal = _leaf("a finite number as hexadecimal text", lambda value: _of_hexadecimal(value) < math.inf)
by_name = _leaf("what has names", lambda value: isinstance(value, dict))
label = _leaf(
    "a label, text or a finite number", lambda value: isinstance(value, str) or abs(_real(value)) <= sys.float_info.max
)


def _real(value: Any) -> float:
    return value if isinstance(value, bool | int | float) else math.nan


def _of_hexadecimal(value: Any) -> float:
    try:
        found = abs(float.fromhex(value))
    except (TypeError, ValueError, OverflowError):
        return math.inf
    return math.inf if math.isnan(found) else found


def whole(least: int = 0, most: int = _MOST) -> Form:
    within = f"a whole number not less than {least}" if most == _MOST else f"a whole number from {least} to {most}"
    return _leaf(within, lambda value: type(value) is int and least <= value <= most)


def number(least: float = -sys.float_info.max) -> Form:
    words = "a finite number" + (f" not less than {least:g}" if least > -sys.float_info.max else "")
    return _leaf(words, lambda value: type(value) in (int, float) and least <= value <= sys.float_info.max)


def among(*known: Any) -> Form:
    words = known[0] if len(known) == 1 else f"one of {', '.join(map(repr, known))}"
    return _leaf(repr(words) if len(known) == 1 else words, lambda value: any(_same(value, one) for one in known))


def pattern(words: str, expression: str) -> Form:
    return _leaf(words, lambda value: isinstance(value, str) and re.fullmatch(expression, value) is not None)


def nothing_or(form: Form) -> Form:
    return lambda value, place: None if value is None else form(value, place)


def every(form: Form) -> Form:
    """A list of values that have this form."""

    def hold(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise ValueError(f"its {place} is {value!r:.60}, where a list must stand")
        for i, part in enumerate(value):
            form(part, f"{place}.{i}")

    return hold


def each(form: Form) -> Form:
    """Values of this form by their names."""

    def hold(value: Any, place: str) -> None:
        by_name(value, place)
        for name, part in value.items():
            form(part, f"{place}.{name}")

    return hold


def row(*forms: Form) -> Form:
    """A list with one value for each of these forms."""

    def hold(value: Any, place: str) -> None:
        if not (isinstance(value, list) and len(value) == len(forms)):
            raise ValueError(f"its {place} is {value!r:.60}, where a list of {len(forms)} must stand")
        for i, (form, part) in enumerate(zip(forms, value, strict=True)):
            form(part, f"{place}.{i}")

    return hold


def record(**forms: Form) -> Form:
    """These names, all of them and no others."""

    def hold(value: Any, place: str) -> None:
        by_name(value, place)
        wrong = next((name for name in (*forms, *value) if not (name in forms and name in value)), None)
        if wrong is not None:
            what = "lacks" if wrong in forms else "has an unknown"
            raise ValueError(f"its {place} {what} {wrong!r:.60}, where {', '.join(forms)} must stand")
        for name, form in forms.items():
            form(value[name], f"{place}.{name}")

    return hold


def agree(place: str, value: Any, other: Any, what: str) -> None:
    """Refuse a value that contradicts what else the file says."""
    if not _same(value, other):
        raise ValueError(f"its {place} is {value!r:.60}, where {what} says {other!r:.60}")


def _same(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)
