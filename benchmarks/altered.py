"""Checkpoints and models of runs whose header was altered by hand: made, altered, and what comes of them.

A value is altered alone, and the file's checksums fit: nothing but what the header says tells that it is no run's. It
is refused in one line that names the file, or makes no difference to what is learned, found and predicted.
"""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_N, _MORE = 120, 30  # rows of a checkpoint, and of the rest of its stream
_OPTIONS = ("--algorithm", "rbp", "--set", "budget=9", "--set", "learning_rate=1")
_AFTER = "more"  # what the longer data is called behind the shorter

# What is asked of each run; what stands before it names the data.
KINDS = {
    "plain": ("classes.csv",),
    "late": ("classes.csv", "--delay", "5", "--metrics", "auc,log_loss,mistake_rate"),
    "adwin": ("classes.csv", "--drift", "adwin:clock=4", "--on-drift", "forget:100", "--delay", "3"),
    "page-hinkley": ("classes.csv", "--drift", "page-hinkley", "--drift", "kswin:on=a", "--on-drift", "restart"),
    "ddm": ("classes.csv", "--drift", "ddm:warm_start=10"),
    "asking": ("classes.csv", "--ask", "margin:b=0.3"),
    "window": ("several.csv", "--window", "40", "--metrics", "f1,kappa,faded_mistake_rate"),
    "growing": ("growing.csv", "--task", "multiclass", "--missing", "mean"),
    "values": ("values.csv", "--scale", "online", "--metrics", "r2,coverage,faded_mae,rmse"),
    "words": ("words.csv", "--classes", "no,yes"),
    "hashed": ("words.csv", "--categorical", "hash", "--dates", "week,trend"),
    "places": ("places.libsvm", "--renumber"),
}
# Places whose values nothing else in a file tells, so that another that is possible is believed: the history of a run,
# what words and classes are called, what a kernel's width was settled as.
_TELLS = re.compile(
    r"(run\.checkpoints\.\d+|run\.(metrics|window)\.\w+\.(positive|scores|labels|counts|moments|intervals)|run\.drift\.each"
    r"|survey\.(reason|rows|width|announced|two_classes)|judged|seed|waiting\.most|task\.(classes|dtype)"
    r"|settled\.kernel\.gamma|feature_names|encoding)(\..*)?"
)
_OTHER_ROWS = "are not those that were learned before"  # of a digest that no longer fits the data

VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "x", "nan", "0x1.8p+3", [], [None], {}, {"x": 1}),
    *(-1, 0, 1, 7, 0.5, -0.5, 1e308, float("nan"), float("inf"), 2**31, 2**63, 10**30),
)


def write_data(folder: Path) -> None:
    """The files that are learned from, each twice: as it was when the run began, and with rows behind."""
    rng = np.random.default_rng(3)
    n = _N + _MORE
    X = rng.normal(size=(n, 2)).round(3)
    turned = np.arange(n) >= _N // 2
    label = np.where((X[:, 0] * X[:, 1] > 0) ^ turned, "yes", "no")
    numbers = [f"{a},{b}" for a, b in X]
    words = [f"{row},2026-01-{1 + t % 28:02d},{('red', 'blue', 'green')[t % 3]}" for t, row in enumerate(numbers)]
    tables = {
        "classes.csv": ("a,b,kind", [f"{row},{said}" for row, said in zip(numbers, label, strict=True)]),
        "several.csv": ("a,b,kind", [f"{row},{'uvw'[t % 3]}" for t, row in enumerate(numbers)]),
        "growing.csv": ("a,b,kind", [f"{row},{'uvwx'[t // 35 % 4]}" for t, row in enumerate(numbers)]),
        "values.csv": ("a,b,cost", [f"{row},{a + b * b}" for row, (a, b) in zip(numbers, X, strict=True)]),
        "words.csv": ("a,b,day,hue,kind", [f"{row},{said}" for row, said in zip(words, label, strict=True)]),
        "places.libsvm": ("", [f"{t % 2} {7 + t % 5}:{a} 90000{t % 3}:{b}" for t, (a, b) in enumerate(X)]),
    }
    for name, (head, lines) in tables.items():
        for place, few in ((name, _N), (_AFTER + name, n)):
            (folder / place).write_text("".join(f"{line}\n" for line in [head, *lines[:few]] if line))


class Altered:
    """Files of one kind of run in a folder, and what comes of them when they are altered."""

    def __init__(self, folder: Path, kind: str):
        self.folder, self.kind = folder, kind
        (data, *self.options) = KINDS[kind]
        self.data, self.more = folder / data, folder / (_AFTER + data)
        if not self.data.exists():
            write_data(folder)
        self.files: dict[str, dict[str, bytes]] = {}
        self.path = folder / f"{kind}.altered.ks"
        part, model = folder / f"{kind}.part.ks", folder / f"{kind}.ks"
        self._said(self._run(self.data, part, "--save", str(model)))
        for name, path in (("checkpoint", part), ("model", model)):
            with zipfile.ZipFile(path) as archive:
                self.files[name] = {member: archive.read(member) for member in archive.namelist()}
        self.headers = {name: json.loads(members["model.json"]) for name, members in self.files.items()}
        self.whole = {name: self._come_of(name, header) for name, header in self.headers.items()}
        assert not any(isinstance(found, str) for found in self.whole.values()), self.whole

    def altered(self, name: str, place: tuple[Any, ...], value: Any) -> Any:
        """The header with another value at a place."""
        return _changed(self.headers[name], place, value)

    def outcome(self, name: str, place: tuple[Any, ...], header: Any) -> tuple[str, str]:
        """What comes of the checkpoint, or of the model, with a header altered at a place: (word, what else there is to
        say).
        """
        found = self._come_of(name, header)
        told = _TELLS.fullmatch(_shown(place)) is not None
        if isinstance(found, str):
            # What fits all else of the file, but not the data, is refused by what reads these.
            of_the_data = ": kernelstream: " in found and (told or _OTHER_ROWS in found)
            return ("refused" if self.path.name in found or of_the_data else "traceback"), found
        for what, value in self.whole[name].items():
            if found[what] != value and not told:
                return "silent difference", f"{what}: {str(found[what])[:120]}, not {str(value)[:120]}"
        return "taken", ""

    def _come_of(self, name: str, header: Any) -> dict[str, Any] | str:
        """What the commands tell of a file with this header; or how one of them refuses it."""
        with zipfile.ZipFile(self.path, "w", zipfile.ZIP_STORED) as archive:
            for member, data in self.files[name].items():
                archive.writestr(member, json.dumps(header) if member == "model.json" else data)
        try:
            found = {"inspected": self._said(["inspect", str(self.path), "--json"])}
            found["predicted"] = self._said(["predict", str(self.path), str(self.more), "--scores"], self.options)
            if name == "checkpoint":
                return found | self._resumed()
            card = self.folder / "card.md"
            self._said(["inspect", str(self.path), "--card", str(card)])
            return found | {"card": card.read_text()}
        except _Refused as refusal:
            return str(refusal)

    def _resumed(self) -> dict[str, Any]:
        """What a run knows that goes on from the file through the rest of the stream."""
        result, model = self.folder / "result.json", self.folder / "resumed.ks"
        whole = self.data.read_bytes()
        self.data.write_bytes(self.more.read_bytes())
        try:
            self._said(self._run(self.data, self.path, "--resume", "--save", str(model), "--json", str(result)))
        finally:
            self.data.write_bytes(whole)
        told = json.loads(result.read_text())
        with zipfile.ZipFile(model) as archive:
            learned = {member: archive.read(member) for member in archive.namelist()}
        return {"header": json.loads(learned.pop("model.json")), "learned": learned, "told": _untimed(told)}

    def _run(self, data: Path, part: Path, *options: str) -> list[str]:
        return ["run", str(data), *_OPTIONS, *self.options, "--checkpoint", str(part), "--every", "50", *options]

    def _said(self, arguments: list[str], reading: Any = ()) -> str:
        from typer.testing import CliRunner

        from kernelstream.cli import app

        arguments = arguments + [word for word in reading if word == "--renumber"]
        answer = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
        if answer.exit_code == 0:
            return answer.stdout.replace(str(self.path), "")
        if answer.exit_code != 2 or not isinstance(answer.exception, SystemExit):
            raise _Refused(f"{arguments[0]}: {type(answer.exception).__name__}: {answer.exception}"[:300])
        raise _Refused(f"{arguments[0]}: {answer.stderr.splitlines()[-1]}")


class _Refused(Exception):
    """What a command said that did not end well."""


_OF_THE_CLOCK = ("seconds", "reading_seconds", "compiling_seconds", "rows_per_second", "looking_ahead_seconds")


def _untimed(told: Any) -> Any:
    """A result without what the clock says."""
    if isinstance(told, dict):
        return {name: _untimed(value) for name, value in told.items() if name not in _OF_THE_CLOCK}
    return [_untimed(value) for value in told] if isinstance(told, list) else told


def places(header: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of a header stands; of long lists the first, the second and the last."""
    if place:
        yield place
    if isinstance(header, dict):
        for name, value in header.items():
            yield from places(value, (*place, name))
    elif isinstance(header, list):
        for at in sorted({0, 1, len(header) - 1} & set(range(len(header)))):
            yield from places(header[at], (*place, at))


def alterations(header: Any, place: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """(what, header) with another value at a place, without it, or with one part more or fewer in it."""
    value = _at(header, place)
    for other in VALUES:
        if type(other) is not type(value) or other != value:
            yield f"{_shown(place)} -> {other!r}", _changed(header, place, other)
    yield f"{_shown(place)} left out", _changed(header, place[:-1], _without(_at(header, place[:-1]), place[-1]))
    if isinstance(value, dict):
        yield f"{_shown(place)} with one more", _changed(header, place, value | {"another": 1})
    if isinstance(value, list) and value:
        for what, other in {"one fewer": value[:-1], "one twice": [value[0], *value], "turned": value[::-1]}.items():
            if other != value:
                yield f"{_shown(place)} with {what}", _changed(header, place, other)
    if isinstance(value, int | float) and not isinstance(value, bool):
        for other in (value + 1, value - 1, -value, float(value) + 0.5):
            if other != value:
                yield f"{_shown(place)} -> {other!r}", _changed(header, place, other)
    if isinstance(value, str) and len(value) > 1:
        for other in (value[:-1], value + value[-1], value[::-1]):
            if other != value:
                yield f"{_shown(place)} -> {other!r}", _changed(header, place, other)


def _at(header: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        header = header[key]
    return header


def _changed(header: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copied = header.copy()
    copied[place[0]] = _changed(header[place[0]], place[1:], value)
    return copied


def _without(value: Any, key: Any) -> Any:
    copied = value.copy()
    del copied[key]
    return copied


def _shown(place: tuple[Any, ...]) -> str:
    return ".".join(map(str, place))
