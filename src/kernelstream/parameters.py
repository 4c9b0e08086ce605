"""Parameters: what kernels, losses, schedules and algorithm specs have in common.

They are small dataclasses that can be compared, copied, pickled, written to JSON and searched over: `get_params` and
`set_params` follow scikit-learn, so that ``algorithm__kernel__gamma`` reaches a kernel's width.
"""

import copy
import dataclasses
import difflib
import inspect
import math
import numbers
import sys
import textwrap
from collections.abc import Iterable
from importlib import import_module
from typing import Any, ClassVar, Self, get_origin

from .teaching import explained, said_of

LARGEST_SEED = 2**63 - 1

# The modules of classes that are imported when they are asked for, also by a file.
PLACES: dict[str, str] = {}


_MOST_ALIKE = 4  # words that are asked about at a time


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A question about the known words that begin like it, or about the nearest, if one is near."""
    known, word = list(known), str(word).lower()
    alike = [one for one in known if word and one.startswith(word)]
    near = alike if 0 < len(alike) <= _MOST_ALIKE else difflib.get_close_matches(word, known, 1)
    return f"did you mean {' or '.join(near)}? Choose" if near else "choose"


@explained()
class Parameters:
    """Base of all specs. A subclass is a dataclass; `check` refuses bad values, at construction and on every change."""

    registry: ClassVar[dict[str, type["Parameters"]]] = {}
    _said: ClassVar[dict[str, str]] = {}  # what a class itself says of its parameters

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        taken = Parameters.registry.get(cls.__name__)
        owner = PLACES.get(cls.__name__) if taken is None else taken.__module__
        if owner not in (None, cls.__module__):
            raise TypeError(
                f"The name {cls.__name__} belongs to {owner}.{cls.__name__}, and model files go by it. Choose another."
            )
        Parameters.registry[cls.__name__] = cls
        prose, cls._said = said_of(inspect.cleandoc(cls.__dict__.get("__doc__") or ""), _names(cls))
        cls.__doc__ = _taught(cls, prose)

    @classmethod
    def _introduced(cls, prose: str) -> str:
        """What its help begins with; `prose` is its own docstring without what that says of parameters."""
        return prose

    @classmethod
    def _example(cls) -> str:
        """What its help ends with, if anything."""
        return ""

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise ValueError naming the parameter, its value and what is allowed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        deep: also those of nested specs, as ``outer__inner``
        """
        params: dict[str, Any] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            params[field.name] = value
            if deep:
                for prefix, part in _inside(field.name, value):
                    params.update({f"{prefix}__{k}": v for k, v in part.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; ``outer__inner`` reaches into a nested spec, ``outer__0__inner`` into the first of
        several. All or nothing.
        """
        changed = dict(self.get_params(deep=False))
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, separator, inner = name.partition("__")
            if outer not in changed:
                raise ValueError(f"{type(self).__name__} has no parameter {outer!r}; it has {', '.join(changed)}.")
            if separator:
                nested.setdefault(outer, {})[inner] = value
            else:
                changed[outer] = value
        for outer, inner_params in nested.items():
            part = copy.deepcopy(changed[outer])
            if isinstance(part, tuple):
                _set_in(outer, part, inner_params)
            elif isinstance(part, Parameters):
                part.set_params(**inner_params)
            else:
                raise ValueError(f"{outer}={part!r} of {type(self).__name__} has no parameters of its own.")
            changed[outer] = part
        self.__dict__.update(type(self)(**changed).__dict__)
        return self

    def to_json(self) -> dict[str, Any]:
        """A JSON value from which `from_json` makes an equal object."""
        written: dict[str, Any] = {"type": type(self).__name__}
        for name, value in self.get_params(deep=False).items():
            written[name] = _written(value)
        return written


def _written(value: Any) -> Any:
    """A parameter's value as a JSON value."""
    if isinstance(value, Parameters):
        return value.to_json()
    if isinstance(value, tuple):
        return [_written(part) for part in value]
    if isinstance(value, numbers.Real):
        return "inf" if math.isinf(value) else getattr(value, "item", lambda: value)()
    return value


def _names(cls: type) -> list[str]:
    """The parameters of a class that is about to become a dataclass."""
    found: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        for name, kind in _annotations(base).items():
            if kind is not ClassVar and get_origin(kind) is not ClassVar:
                found[name] = None
    return list(found)


def _annotations(cls: type) -> dict[str, Any]:
    if sys.version_info >= (3, 14):  # a name that is not known yet is no error there
        from annotationlib import Format, get_annotations

        return get_annotations(cls, format=Format.FORWARDREF)
    return inspect.get_annotations(cls)


def _taught(cls: type[Parameters], prose: str) -> str:
    """The help of a class: what it is, all of its parameters with their defaults, an example."""
    said: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        said |= getattr(base, "_said", {}) if "_said" in base.__dict__ else {}
    lines = []
    for name in _names(cls):
        lines.append(f"{name} : default {_default(cls, name)}")
        lines += textwrap.wrap(said.get(name, ""), 112, initial_indent="    ", subsequent_indent="    ")
    parts = [cls._introduced(prose)]
    parts += ["Parameters\n----------\n" + "\n".join(lines)] if lines else []
    parts += [f"Examples\n--------\n{example}"] if (example := cls._example()) else []
    return "\n\n".join(parts)


def _default(cls: type, name: str) -> str:
    inherited = getattr(cls, "__dataclass_fields__", {}).get(name)
    value = cls.__dict__.get(name, inherited)
    if not isinstance(value, dataclasses.Field):
        return repr(value)
    if value.default_factory is dataclasses.MISSING:
        return repr(value.default)
    made = getattr(value.default_factory, "__name__", "")
    return f"{made}()" if made.isidentifier() else repr(value.default_factory())


def _inside(name: str, value: Any) -> list[tuple[str, Parameters]]:
    """The specs that a parameter's value is, with their names."""
    if isinstance(value, tuple):
        return [(f"{name}__{i}", part) for i, part in enumerate(value) if isinstance(part, Parameters)]
    return [(name, value)] if isinstance(value, Parameters) else []


def _set_in(name: str, parts: tuple[Parameters, ...], params: dict[str, Any]) -> None:
    """Change parameters of some of several specs."""
    for inner, value in params.items():
        place, _, rest = inner.partition("__")
        if not (place.isdecimal() and int(place) < len(parts) and rest):
            raise ValueError(f"{name} has {len(parts)} parts, 0 to {len(parts) - 1}, and no {inner!r}.")
        parts[int(place)].set_params(**{rest: value})


def from_json(written: Any) -> Any:
    """The object that `Parameters.to_json` described. Runs no code but the constructors of known classes."""
    if isinstance(written, list):
        return tuple(from_json(part) for part in written)
    if not isinstance(written, dict):
        return math.inf if written == "inf" else written
    fields = dict(written)
    name = fields.pop("type", None)
    if isinstance(name, str) and name in PLACES and name not in Parameters.registry:
        import_module(PLACES[name])
    if not isinstance(name, str) or name not in Parameters.registry:
        raise ValueError(
            f"The file names {name!r}, which is not defined here. If it is a kernel or loss of yours, "
            "import the module that defines it before loading."
        )
    return Parameters.registry[name](**{k: from_json(v) for k, v in fields.items()})


def _number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)


def positive(**values: Any) -> None:
    for name, value in values.items():
        if not (_number(value) and value > 0):
            raise ValueError(f"{name}={value!r} must be a number greater than 0.")


def fraction(**values: Any) -> None:
    for name, value in values.items():
        if not (_number(value) and 0 < value <= 1):
            raise ValueError(f"{name}={value!r} must be a number greater than 0 and not greater than 1.")


def share(**values: Any) -> None:
    for name, value in values.items():
        if not (_number(value) and 0 < value < 1):
            raise ValueError(f"{name}={value!r} must be a number greater than 0 and less than 1.")


def at_least(limit: float, **values: Any) -> None:
    for name, value in values.items():
        if not (_number(value) and value >= limit):
            raise ValueError(f"{name}={value!r} must be a number not less than {limit:g}.")


def finite(**values: Any) -> None:
    for name, value in values.items():
        if not (_number(value) and math.isfinite(value)):
            raise ValueError(f"{name}={value!r} must be a finite number.")


def whole(limit: int, **values: Any) -> None:
    for name, value in values.items():
        if not (isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= limit):
            raise ValueError(f"{name}={value!r} must be a whole number not less than {limit}.")


def one_of(allowed: tuple[Any, ...], **values: Any) -> None:
    for name, value in values.items():
        if value not in allowed:
            raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}.")
