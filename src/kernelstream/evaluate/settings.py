"""Specs from settings in words: ``kernel=laplacian kernel.gamma=0.1 learning_rate=inverse-sqrt`` and back.

``kernel=gaussian+0.5*linear`` is a sum, and ``kernel.parts.0.gamma=0.1`` reaches into it.
"""

import ast
import dataclasses
import inspect
from collections.abc import Iterable
from typing import Any

from ..algorithms import ALGORITHMS, PURPOSES, make
from ..engine import Algorithm
from ..kernels import KERNELS, Kernel
from ..learner.naming import number_or_text
from ..losses import LOSSES
from ..parameters import Parameters, did_you_mean, from_json
from ..schedules import SCHEDULES
from ..sources.base import meant

# The parameters whose values are specs themselves, and what those are called.
FAMILIES: dict[str, dict[str, type[Parameters]]] = {
    "kernel": dict(KERNELS),
    "loss": dict(LOSSES),
    "learning_rate": dict(SCHEDULES),
}
_WORDS = {"true": True, "false": False, "none": None}


def spec_from(algorithm: str, settings: Iterable[str]) -> Algorithm:
    """The spec of an algorithm with ``name=value`` settings applied, in any order; dots reach into its parts."""
    tree: dict[str, Any] = {}
    for setting in settings:
        name, separator, text = setting.partition("=")
        if not (separator and name and text):
            raise ValueError(f"the setting {setting!r} is not name=value, as in n_components=400 or kernel.gamma=0.1.")
        _plant(tree, name, _value(text))
    spec: Algorithm = _changed(make(algorithm), algorithm, tree)
    return spec


def flat(spec: Parameters) -> dict[str, Any]:
    """The settings that make a spec: ``{"kernel": "gaussian", "kernel.gamma": 0.5, "n_components": 400, ...}``."""
    settings: dict[str, Any] = {}
    for name, value in spec.get_params(deep=False).items():
        if isinstance(value, tuple) and all(isinstance(part, Parameters) for part in value):
            if not isinstance(spec, Kernel):  # what a kernel is made of stands in what it is called
                settings[name] = ",".join(part.name for part in value)
            for i, part in enumerate(value):
                settings.update({f"{name}.{i}.{inner}": setting for inner, setting in flat(part).items()})
        elif isinstance(value, Parameters):
            settings[name] = _called(name, value)
            settings.update({f"{name}.{inner}": setting for inner, setting in flat(value).items()})
        else:
            settings[name] = value
    return settings


def refuse_other(path: Any, begun: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse to go on with a file that was begun with other settings than those that are asked for now."""
    for name, value in asked.items():
        before = begun.get(name)
        if before != value:
            if name == "algorithm":
                before, value = _first_difference(before, value)
            else:
                before, value = _assigned(name, before), _assigned(name, value)
            raise ValueError(
                f"{path} was begun with {before}, and is to go on with {value}; resume it as it was begun, or name "
                "another file."
            )


def _first_difference(before: Any, value: Any) -> tuple[str, str]:
    """Of two specs as JSON."""
    one, other = from_json(before), from_json(value)
    if one.name != other.name:
        return f"algorithm={one.name!r}", f"algorithm={other.name!r}"
    settings, others = flat(one), flat(other)
    name = next(name for name in {**settings, **others} if settings.get(name) != others.get(name))
    return f"settings='{name}={settings.get(name)}'", f"settings='{name}={others.get(name)}'"


def _assigned(name: str, value: Any) -> str:
    return " ".join(f"{name}={one!r}" for one in value or [None]) if isinstance(value, list) else f"{name}={value!r}"


def _plant(tree: dict[str, Any], name: str, value: Any) -> None:
    """Put a value at its dotted place; the value of a node that has branches is kept under the empty name."""
    for part in name.split("."):
        tree = tree.setdefault(part, {})
    if "" in tree:
        raise ValueError(f"{name} is set twice; set it once.")
    tree[""] = value


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return number_or_text(text)


def _changed(spec: Any, called: str, tree: dict[str, Any]) -> Any:
    """The spec with the values of a tree."""
    values: dict[str, Any] = {}
    known = list(inspect.signature(type(spec)).parameters)
    for name, branch in tree.items():
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{called} has no parameter {name!r}; {has}.{meant(name, known)}")
        branches = {inner: value for inner, value in branch.items() if inner}
        value = _part(name, branch.get("", default := getattr(spec, name, None)), default)
        if branches and isinstance(value, tuple):
            value = _changed_parts(name, value, branches)
        elif branches:
            family = FAMILIES.get(name, {})
            if isinstance(value, str) and value in family:
                value = family[value]()
            if not isinstance(value, Parameters):
                choices = f"; choose one first, {name}={'|'.join(family)}" if family else ""
                raise ValueError(f"{name}={value!r} has no parameter {next(iter(branches))!r}{choices}.")
            value = _changed(value, _called(name, value), branches)
        values[name] = value
    return dataclasses.replace(spec, **values)


def _changed_parts(name: str, parts: tuple[Any, ...], branches: dict[str, Any]) -> tuple[Any, ...]:
    """Several specs with the values of trees, which go by their places."""
    known = [str(i) for i in range(len(parts))]
    strange = next((place for place in branches if place not in known), None)
    if strange is not None:
        raise ValueError(f"{name} has no part {strange!r}; it has {', '.join(known)}, as in {name}.0.kernel.gamma=0.1.")
    return tuple(_changed(part, f"{name}.{i}", branches.get(str(i), {})) for i, part in enumerate(parts))


def _part(name: str, value: Any, default: Any) -> Any:
    """What a value of a parameter stands for: a word may name a kernel or a schedule, words with commas several
    learners; losses go by their words.
    """
    if name == "parts" and isinstance(value, str):
        return tuple(make(word.strip()) for word in value.split(","))
    if value == default or not (name == "kernel" or (name == "learning_rate" and isinstance(value, str))):
        return value
    if name == "kernel" and isinstance(value, str) and set("+*") & set(value):
        return _composite(value)
    if value not in FAMILIES[name]:
        number = "a number or " if name == "learning_rate" else ""
        choose = did_you_mean(value, FAMILIES[name])
        raise ValueError(f"{name}={value!r} is not known; {choose} {number}one of {', '.join(FAMILIES[name])}.")
    return FAMILIES[name][value]()


def _composite(text: str) -> Kernel:
    """The kernel that words, numbers, +, * and parentheses stand for."""

    def found(node: ast.AST) -> Any:
        match node:
            case ast.Name(id=word):
                return _part("kernel", word, None)
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return found(left) + found(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return found(left) * found(right)
        raise SyntaxError

    try:
        kernel = found(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError):
        kernel = None
    if not isinstance(kernel, Kernel):
        raise ValueError(
            f"kernel={text!r} is no kernel; a sum or product is written as in gaussian+0.5*linear or "
            "(gaussian+linear)*polynomial."
        )
    return kernel


def _called(name: str, part: Parameters) -> str:
    """The word for a part, or its class when it has none; the formula of a kernel that is made of others."""
    words = {kind: word for word, kind in FAMILIES.get(name, {}).items()}
    if isinstance(part, Kernel):
        return part.spelled(lambda single: words.get(type(single), type(single).__name__)).replace(" ", "")
    return words.get(type(part), type(part).__name__)


def described(name: str) -> dict[str, Any]:
    """All that is known of an algorithm without running it, as a JSON value."""
    spec = ALGORITHMS[name]
    return {
        "name": name,
        "purpose": next((purpose for purpose, names in PURPOSES.items() if name in names), "your own"),
        "paper": spec.paper,
        "tasks": list(spec.tasks),
        "losses": {task: list(spec.losses(task)) for task in spec.tasks},
        "bounded": spec.bounded,
        "parameters": flat(spec),
    }
