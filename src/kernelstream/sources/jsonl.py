"""JSON lines as a stream of blocks: an object a line, whose names are columns.

The first mebibyte decides the columns, which are the names in the order in which they appear, and which of them hold
words (text, truth values) or dates (text that is nothing else). A name that is absent, or null, is a missing value; one
that comes later is refused.
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ..encoding.buffers import column_of_values
from ..encoding.tables import DATE, NUMBER, WORD
from ..encoding.values import AUTO, moment_of
from .base import LabelledBlock, SourceError
from .columns import Encoder, Layout, Words
from .tables import TableSource

_CHUNK_BYTES = 2**20


class JsonLinesSource(TableSource):
    """A file of JSON objects, one a line. `label` is a name, or a position among the names."""

    def _pass(self, earlier: Encoder | None) -> Iterator[LabelledBlock]:
        with self._opened() as stream:
            self._encoder = earlier
            texts = (text for text in self._whole_lines(stream, _CHUNK_BYTES))
            first = next((text for text in texts if text.strip()), None)
            if first is None:
                return
            layout = self._layout(first, None if earlier is None else earlier.layout)
            rows = self._tables(itertools.chain([first], texts), layout)
            yield from self._blocks(rows, self._new_encoder(layout, np.float64, earlier))

    def _layout(self, text: bytes, above: Layout | None) -> Layout:
        if above is not None:
            return above
        kinds: dict[str, Counter[str]] = {}
        faults: list[SourceError] = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                row = _parsed(line) if line.strip() else {}
            except ValueError as error:
                faults.append(SourceError(str(error), path=self.path, line=number))
                continue  # told when it is read
            for name, value in row.items():
                found = kinds.setdefault(name, Counter())
                if value is not None and value != "":
                    found[_kind(value)] += 1
        names = list(kinds)
        if not names and faults:
            raise faults[0]
        if len(names) < (1 if self.label is None else 2):
            raise SourceError(f"the names are {names}; a label and a feature are needed", path=self.path, line=1)
        label = self._label_position(names)
        dropped = self.columns.dropped(names, label, self.path)
        wordy = {
            name: Words(1 - kinds[name][NUMBER] / kinds[name].total(), set(kinds[name]) == {DATE})
            for at, name in enumerate(names)
            if at != label and set(kinds[name]) - {NUMBER}
        }
        words, dates = self.columns.kinds(wordy)
        dated = {at for at, name in enumerate(names) if name in dates} - {label, *dropped}
        word_labels = label is not None and bool(set(kinds[names[label]]) - {NUMBER})
        return Layout(names, label, [name in words for name in names], word_labels, dropped, frozenset(dated))

    def _tables(self, texts: Iterator[bytes], layout: Layout) -> Iterator[Any]:
        import pyarrow as pa

        places = {name: at for at, name in enumerate(layout.names)}
        types = layout.types
        line = 0
        for text in texts:
            rows = []
            for row in text.split(b"\n")[:-1]:
                line += 1
                if not row.strip():
                    continue
                try:
                    rows.append(self._values(row, places, layout))
                except ValueError as error:
                    self._skip(SourceError(str(error), path=self.path, line=line))
            if rows:
                columns = zip(*rows, strict=True)
                arrays = [column_of_values(column, kind) for column, kind in zip(columns, types, strict=True)]
                yield pa.Table.from_arrays(arrays, [str(at) for at in range(len(types))])
            elif not text:
                yield None

    def _values(self, row: bytes, places: dict[str, int], layout: Layout) -> list[Any]:
        """The values of a line in the order of the columns; ValueError says what is wrong with it."""
        values: list[Any] = [None] * len(places)
        for name, value in _parsed(row).items():
            if name not in places:
                raise ValueError(f"the name {name!r} is new; those of the first mebibyte are {', '.join(places)}")
            values[places[name]] = value
        for at, (name, value) in enumerate(zip(layout.names, values, strict=True)):
            if at in layout.dropped:
                values[at] = None
            elif value is None or value == "":
                if self.columns.missing == "refuse" and at == layout.label:
                    raise ValueError(f"the label {name!r} is missing; fill it in or drop the row")
                if self.columns.missing == "refuse":
                    raise ValueError(f"{name!r} is missing; fill it in, drop the row, or use missing='mean'")
                values[at] = None
            elif at in layout.dates:
                values[at] = _moment(value)
                if values[at] is None:
                    what = f"the value {json.dumps(value)[:40]} of {name!r} is not a date, unlike all before"
                    raise ValueError(f"{what}; write it as 2026-01-25 or 2026-01-25T12:30:00, or drop the row")
            elif layout.categorical[at] or (at == layout.label and layout.word_labels):
                values[at] = value if isinstance(value, str) else json.dumps(value)
            else:
                values[at] = self._number(name, value)
        return values

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            named = f"categorical_columns={name!r}"
            words = named if self.columns.categorical == AUTO else "categorical='onehot'"
            remedy = f"make features of words: {words}, or leave it out: drop={name!r}"
            raise ValueError(f"the value {json.dumps(value)[:40]} of {name!r} is not a number; {remedy}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ValueError(f"the value {str(value)[:40]} of {name!r} is not finite; correct it or drop the row")
        return number


def _kind(value: Any) -> str:
    if not isinstance(value, str | bool):
        return NUMBER
    return WORD if _moment(value) is None else DATE


def _moment(value: Any) -> int | None:
    return moment_of(value) if isinstance(value, str) else None


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_constant=_refuse, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        if isinstance(error, _Twice):
            raise
        why = f"{error.msg} at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else error
        raise ValueError(f"this is no JSON object ({why}); {_remedy(line)}") from None
    if not isinstance(row, dict):
        raise ValueError(f"this is {type(row).__name__} and no JSON object; {_remedy(line)}")
    return row


class _Twice(ValueError):
    """A name that an object has more than once."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Twice(f"the name {twice!r} stands here twice; rename one, or leave it out")
    return found


def _remedy(line: bytes) -> str:
    """What to do about a line that is no object."""
    program = {b"[": "'.[]'", b"{": "."}.get(line.strip()[:1])
    return "write one a line" + (f", as with: jq -c {program} FILE > NEW" if program else "")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
