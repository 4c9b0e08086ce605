"""Errors of the library in the words of the command: ``categorical='onehot'`` is ``--categorical onehot`` there."""

import re
import shlex
from collections.abc import Mapping

_ASSIGNED = re.compile(r"""(?<![\w.-])([a-z_]+)=('[^']*'|"[^"]*"|[\w.+-]*\w)""")
_QUOTES = "'\""
_NAME = re.compile(r"(?<![\w.-])[a-z]+(?:_[a-z]+)+(?![\w.=])")


def in_words(message: str, options: Mapping[str, str]) -> str:
    """A message on one line; `options` are how the parameters are written, ``--yes/--no`` for one of two."""

    def assigned(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if name not in options:
            return match[0]
        if value in ("True", "False"):
            yes, _, no = options[name].partition("/")
            return yes if value == "True" else no or f"no {yes}"
        return f"{options[name]} {shlex.quote(value.strip(value[0]) if value[0] in _QUOTES else value)}"

    message = _ASSIGNED.sub(assigned, " ".join(message.split()))
    return _NAME.sub(lambda match: options.get(match[0], match[0]).partition("/")[0], message)
