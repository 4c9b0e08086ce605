"""Docstrings as reStructuredText wants them: formulas that are set off stay as they are, and no letter is markup."""

import inspect
import re
from typing import Any

_SECTION = re.compile(r"^(Parameters|Attributes|Examples|Returns)$")
_LITERAL = re.compile(r"(``.+?``|`[^`]+`)")


def _plain(text: str) -> str:
    """What people read, outside of what is code."""
    parts = _LITERAL.split(text)
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\_", re.sub(r"([*|])", r"\\\1", part)) for part in parts[::2]]
    return "".join(parts)


def _entry(line: str) -> list[str]:
    """``name : words`` as a name and what is said of it; a default stays beside the name."""
    names, _, words = line.partition(" : ")
    names = re.sub(r"(?<=\w)_(?=,)", r"\_", names)
    if words.startswith("default "):
        return [f"{names} : {words}"]
    return [names, *([f"    {_plain(words)}"] if words else [])]


def _with_parameters(thing: Any, lines: list[str]) -> list[str]:
    """``name: words`` behind the prose, as our shorter docstrings have it, as a section."""
    from kernelstream.teaching import said_of

    if not callable(thing) or "----------" in lines:
        return lines
    try:
        names = list(inspect.signature(thing).parameters)
    except ValueError:
        return lines
    prose, said = said_of("\n".join(lines).strip(), names)
    entries = [line for name, words in said.items() for line in (name, f"    {words}")]
    return [*prose.splitlines(), "", "Parameters", "----------", *entries, ""] if said else lines


def prepare(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Prose is escaped, and what is indented in it is code; the lines of a section are its own affair."""
    lines[:] = _with_parameters(thing, lines)
    made: list[str] = []
    section, code = "", False
    for number, line in enumerate(lines):
        if _SECTION.match(line) and lines[number + 1 : number + 2] and set(lines[number + 1]) == {"-"}:
            section, code = line, False
        if section == "Examples" or set(line) == {"-"} or not line.strip():
            made.append(line)
            continue
        indented = line.startswith("    ")
        if not section:
            if indented and not code and (number == 0 or not lines[number - 1].strip()):
                made += ["::", ""]
                code = True
            code = code and indented
            made.append(line if code else _plain(line))
        elif section in ("Parameters", "Attributes") and not indented and line != section:
            made += _entry(line)
        else:
            made.append(_plain(line))
    lines[:] = made


def sign(app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: Any) -> Any:
    """Defaults that are made anew each time, as they look."""
    from kernelstream.parameters import _default

    def shown(match: re.Match[str]) -> str:
        default = _default(thing, match[1])
        return f"{match[1]}={default if len(default) < 40 else '...'}"

    return (re.sub(r"(\w+)=<factory>", shown, signature), returned) if signature else None


def leave_out(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Of what a class has only that is shown which is ours; of a spec its parameters say all."""
    from kernelstream.parameters import Parameters

    if name.startswith("_") or name in ("metadata_request", "classes"):
        return True
    if what == "class" and inspect.isclass(thing):  # what compiled code sees of a spec
        return True
    owner = inspect.unwrap(getattr(thing, "fget", thing) or thing)
    origin = getattr(owner, "__module__", "") or ""
    if not origin.startswith("kernelstream"):
        return True
    qualified = getattr(owner, "__qualname__", "").partition(".")[0]
    return True if qualified in Parameters.registry or qualified == "Parameters" else None


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", prepare, priority=400)
    app.connect("autodoc-process-signature", sign)
    app.connect("autodoc-skip-member", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
