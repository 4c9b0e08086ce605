"""The values of a command's options, of which most need no check.

Typer has each checked by pydantic, the import of which takes a command longer than all else that is done with its
arguments. A default is of its type already, and words are words: what else stands on the command line is checked.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

_WORDS = (str, str | None, list[str], list[str] | None)


if TYPE_CHECKING:
    _Base = TyperCommand
else:
    _Base = object


class _Lightly(_Base):
    """Checks no more values than it must."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, that of --help among them."""
        hints = getattr(self.callback, "__annotations__", {})
        parameters = list(super().get_params(ctx))
        for one in parameters:
            if "process_value" not in vars(one):
                hint = hints.get(one.name)
                hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
                one.process_value = functools.partial(_value, one, one.process_value, hint in _WORDS)  # type: ignore[method-assign]
        return parameters


class Command(_Lightly, TyperCommand):
    """A command. What is wrong with what it is given ends it with one line, in the words of its options."""

    def invoke(self, ctx: Any) -> Any:
        from .options import errors_in_one_line, spelled

        with errors_in_one_line(spelled(self)):
            return super().invoke(ctx)


class Group(_Lightly, TyperGroup):
    """Commands that have a name in common."""


def _value(parameter: Any, check: Callable[[Any, Any], Any], words: bool, context: Any, value: Any) -> Any:
    """What a parameter is: what stands on the command line, or its default."""
    source = context.get_parameter_source(parameter.name)
    default = source is not None and source.name == "DEFAULT" and not (parameter.required and value is None)
    if not default and (value is None or not words):
        return check(context, value)
    if value is None and parameter.multiple:
        value = ()
    return value if parameter.callback is None else parameter.callback(context, parameter, value)
