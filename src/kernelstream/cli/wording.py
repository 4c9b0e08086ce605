"""Errors of the library in the words of the command: ``categorical='onehot'`` is ``--categorical onehot`` there."""

import errno
import re
import shlex
from collections.abc import Mapping

_ASSIGNED = re.compile(r"""(?<![\w.-])([a-z_]+)=('[^']*'|"[^"]*"|\(\d+, \d+\)|[\w.+-]*\w)""")
_QUOTES = "'\""
_NAME = re.compile(r"(?<![\w.-])[a-z]+(?:_[a-z]+)+(?![\w.=])")
# Parameters that the command's options have another name for.
_ALSO = {"threads": "jobs", "scaling": "scale", "how": "subset", "level": "intervals"}
# What only writing meets; our files name themselves, so that it is what is printed that has no name.
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def in_words(message: str, options: Mapping[str, str]) -> str:
    """A message on one line; `options` are how the parameters are written, ``--yes/--no`` for one of two."""

    def assigned(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        option = options.get(name) or options.get(_ALSO.get(name, ""))
        if option is None:
            return match[0]
        yes, _, no = option.partition("/")
        if value in ("True", "False", "None"):
            return yes if value == "True" else f"no {yes}" if value == "None" or not no else no
        if value.startswith("("):
            return f"{yes} {'x'.join(re.findall('[0-9]+', value))}"
        return f"{yes} {shlex.quote(value.strip(value[0]) if value[0] in _QUOTES else value)}"

    message = _ASSIGNED.sub(assigned, " ".join(message.split()))
    return _NAME.sub(lambda match: options.get(match[0], match[0]).partition("/")[0], message)


def reason(error: OSError) -> str:
    """Which file cannot be used, and why."""
    if error.strerror is None:
        return str(error)
    if error.filename is not None:
        return f"{error.filename} cannot be used ({error.strerror}); name another, or mend that."
    if error.errno in _FULL:
        return f"what is printed cannot be written ({error.strerror}); make room, or send it elsewhere."
    return f"the system refused ({error.strerror})."
