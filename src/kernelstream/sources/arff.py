"""ARFF, the text of Weka, MOA and OpenML, as a stream of blocks: a header that declares attributes, then a row a line.

Numbers are ``numeric``, ``real`` and ``integer``; words are ``{a, b, ...}``, which may hold no other, and ``string``. A
nominal attribute whose words are all numbers holds numbers, unless categories are asked for (`columns`); the last
attribute is the label. A ``date`` without a zone is taken for UTC; as a label it is seconds since 1970. Keywords are so
in any case, ``%`` begins a comment, ``?`` is missing, and words with blanks stand in quotes of either kind. A row
``{1 2.5, 4 red}`` names what is not 0 or, of words, the first that was declared; it is written out.
"""

import datetime
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..encoding.buffers import column_of_values
from ..encoding.values import AUTO, seconds_of
from .base import LabelledBlock, SourceError, to_number
from .columns import Encoder, Layout
from .tables import TableSource

_CHUNK_BYTES = 2**20
_NUMERIC = ("numeric", "real", "integer")
_MISSING = "?"
# A word in quotes, with its escapes, or one without.
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_WORD = re.compile(rf"\s*({_QUOTED}|[^\s,{{}}%'\"][^,{{}}%]*|)\s*")
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{%]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
_ENTRY = re.compile(r"\s*(\d+)\s")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
# Of the patterns of Java's dates; what stands between apostrophes is itself.
_DATE = "yyyy-MM-dd'T'HH:mm:ss"
_DATE_PART = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']+")
_DATE_PARTS = {"yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d", "HH": "%H"}
_DATE_PARTS |= {"H": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "SSS": "%f", "a": "%p", "EEE": "%a", "Z": "%z"}


class _Attribute(NamedTuple):
    """words: those that a nominal one may have. date: how one is written. Neither: a number or, `text`, any word."""

    name: str
    words: tuple[str, ...] = ()
    date: str = ""
    text: bool = False

    @property
    def holds_words(self) -> bool:
        return self.text or not all(map(_is_number, self.words))


class _Fault(ValueError):
    """What is wrong with a row, and with which of its fields."""

    def __init__(self, what: str, field: int | None = None):
        super().__init__(what)
        self.column = None if field is None else field + 1


class ArffSource(TableSource):
    """An ARFF file. `label` is an attribute's name or position."""

    def _pass(self, earlier: Encoder | None) -> Iterator[LabelledBlock]:
        with self._opened() as stream:
            self._encoder = earlier
            lines = self._lines(stream)
            attributes = self._header(lines)
            layout = self._layout(attributes, None if earlier is None else earlier.layout)
            tables = self._tables(lines, attributes, layout)
            yield from self._blocks(tables, self._new_encoder(layout, np.float64, earlier))

    def _lines(self, stream: Any) -> Iterator[tuple[int, str | None]]:
        """The lines that are not empty or comments, with their numbers; None where the rows so far are to be served."""
        number = 0
        for text in self._whole_lines(stream, _CHUNK_BYTES):
            for line in text.split(b"\n")[:-1]:
                number += 1
                try:
                    found = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError:
                    what = "this line is no UTF-8 text; save the file as UTF-8"
                    self._skip(SourceError(what, path=self.path, line=number))
                    continue
                if found and not found.startswith("%"):
                    yield number, found
            if not text:
                yield number, None

    def _header(self, lines: Iterator[tuple[int, str | None]]) -> list[_Attribute]:
        attributes: list[_Attribute] = []
        number = 0
        for number, line in lines:
            keyword = "" if line is None else line.split(None, 1)[0].lower()
            try:
                if keyword == "@attribute":
                    attributes.append(_attribute(line or ""))
                    if attributes[-1].name in [one.name for one in attributes[:-1]]:
                        raise _Fault(f"two attributes are named {attributes[-1].name!r}; rename one of them")
                elif keyword == "@data":
                    break
                elif keyword not in ("", "@relation"):
                    raise _Fault(f"{str(line)[:40]!r} is no @relation, @attribute or @data; is this an ARFF file?")
            except _Fault as fault:
                raise SourceError(str(fault), path=self.path, line=number) from None
        else:
            raise SourceError("there is no @data line, below which rows stand", path=self.path, line=max(number, 1))
        if len(attributes) < (1 if self.label is None else 2):
            names = [one.name for one in attributes]
            raise SourceError(
                f"the attributes are {names}; a label and a feature are needed", path=self.path, line=number
            )
        return attributes

    def _layout(self, attributes: list[_Attribute], above: Layout | None) -> Layout:
        names = [one.name for one in attributes]
        label = self._label_position(names)
        dropped = self.columns.dropped(names, label, self.path)
        options = self.columns
        categorical = [one.name in options.categorical_columns for one in attributes]
        if options.categorical == AUTO:
            categorical = [named or one.holds_words for named, one in zip(categorical, attributes, strict=True)]
        elif not options.knows_words:
            categorical = [one.text or bool(one.words) for one in attributes]
        for at, one in enumerate(attributes):
            if at != label and at not in dropped and one.holds_words and not categorical[at]:
                what = f"the attribute {one.name!r} holds words; make features of them: categorical='onehot', or "
                raise SourceError(f"{what}leave it out: drop={one.name!r}", path=self.path, column=at + 1)
        words = label is not None and attributes[label].holds_words
        dated = {at for at, one in enumerate(attributes) if one.date and not categorical[at] and options.dates}
        dates = frozenset(dated - {label, *dropped})
        return Layout(names, label, categorical, words if above is None else above.word_labels, dropped, dates)

    def _tables(
        self, lines: Iterator[tuple[int, str | None]], attributes: list[_Attribute], layout: Layout
    ) -> Iterator[Any]:
        types = layout.types
        readers = [self._reader(one, at, layout, types[at] == "string") for at, one in enumerate(attributes)]
        rows: list[list[Any]] = []
        for number, line in lines:
            if line is not None:
                try:
                    fields = _fields(line, attributes)
                    rows.append([read(field) for read, field in zip(readers, fields, strict=True)])
                except _Fault as fault:
                    self._skip(SourceError(str(fault), path=self.path, line=number, column=fault.column))
            if rows and (line is None or len(rows) >= self.block_rows):
                yield _table(rows, types)
                rows = []
            if line is None:
                yield None
        if rows:
            yield _table(rows, types)

    def _reader(self, one: _Attribute, at: int, layout: Layout, word: bool) -> Any:
        """What makes a value of a field (its text, and whether it stood in quotes)."""
        known, is_label, refuses = set(one.words), at == layout.label, self.columns.missing == "refuse"

        def read(field: tuple[str, bool]) -> Any:
            text, quoted = field
            if at in layout.dropped:
                return None
            if (text == _MISSING or not text) and not quoted:
                if is_label and refuses:
                    raise _Fault(f"the label {one.name!r} is missing; fill it in or drop the row", at)
                if refuses:
                    what = f"the value of {one.name!r} is missing ({text!r})"
                    raise _Fault(f"{what}; fill it in, drop the row, or use missing='mean'", at)
                return None
            if known and text not in known:
                raise _Fault(f"{text!r} is none of the values that {one.name!r} was declared with; add it there", at)
            if word:
                return text
            if one.date:
                seconds = _seconds(text, one, at)
                return round(1e6 * seconds) if at in layout.dates else seconds
            try:
                number = to_number(text)
            except ValueError:
                raise _Fault(f"the value {text!r} of {one.name!r} is not a number; correct it", at) from None
            if not math.isfinite(number):
                raise _Fault(f"the value {text!r} of {one.name!r} is not finite; correct it or drop the row", at)
            return number

        return read


def _table(rows: list[list[Any]], types: list[Any]) -> Any:
    import pyarrow as pa

    arrays = [column_of_values(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.Table.from_arrays(arrays, [str(at) for at in range(len(types))])


def _attribute(line: str) -> _Attribute:
    found = _ATTRIBUTE.match(line)
    if found is None:
        raise _Fault(f"{line[:60]!r} declares no attribute; write @attribute name type")
    name, kind = _plain(found[1])[0], found[2].strip()
    if kind.startswith("{"):
        fields, end = _listed(kind, 1)
        if not kind.startswith("}", end) or not _only_comment(kind[end + 1 :]):
            raise _Fault(f"the values of {name!r} have no end; write {{a, b, ...}} on one line")
        words = tuple(text for text, _ in fields)
        if words == ("",) or len(set(words)) < len(words):
            raise _Fault(f"the values of {name!r} are none, or one is there twice; write each once")
        return _Attribute(name, words=words)
    word, _, rest = kind.partition(" ")
    word = word.lower()
    if word in _NUMERIC or word == "string":
        if not _only_comment(rest):
            raise _Fault(f"there is {rest.strip()!r} behind the type of {name!r}; remove it")
        return _Attribute(name, text=word == "string")
    if word == "date":
        pattern = _plain(rest.partition("%")[0].strip())[0] or _DATE
        return _Attribute(name, date=_strptime(pattern, name))
    known = f"{', '.join(_NUMERIC)}, {{a, b, ...}}, string and date"
    raise _Fault(f"the type {kind[:40]!r} of {name!r} is not read; {known} are")


def _fields(line: str, attributes: list[_Attribute]) -> list[tuple[str, bool]]:
    """The fields of a row, one for each attribute, and whether each stood in quotes."""
    if not set("'\"{}%") & set(line):
        fields = [(field.strip(), False) for field in line.split(",")]
    elif line.startswith("{"):
        return _written_out(line, attributes)
    else:
        fields, end = _listed(line, 0)
        _refuse_rest(line[end:])
    if len(fields) != len(attributes):
        shorter = min(len(fields), len(attributes))
        raise _Fault(f"{len(fields)} values for {len(attributes)} attributes; complete or drop this row", shorter)
    return fields


def _listed(text: str, start: int) -> tuple[list[tuple[str, bool]], int]:
    """The words of a text from a place on that commas part, and where they end."""
    found: list[tuple[str, bool]] = []
    while True:
        word = _WORD.match(text, start)
        if word is None or text.startswith(("'", '"'), word.end()):
            raise _Fault("a quote is opened and not closed; close it", len(found))
        found.append(_plain(word[1]))
        start = word.end()
        if not text.startswith(",", start):
            return found, start
        start += 1


def _written_out(line: str, attributes: list[_Attribute]) -> list[tuple[str, bool]]:
    """A row of which only what is not 0 stands there."""
    fields = [(one.words[0], True) if one.words else ("" if one.text or one.date else "0", False) for one in attributes]
    start, last = 1, -1
    if re.match(r"\s*\}", line[1:]):
        start = line.index("}")
    while not line.startswith("}", start):
        entry = _ENTRY.match(line, start)
        value = None if entry is None else _WORD.match(line, entry.end())
        if entry is None or value is None or not value[1]:
            raise _Fault(f"{line[start : start + 30]!r} is no place and its value; write {{0 1.5, 3 red}}")
        place = int(entry[1])
        if not last < place < len(attributes):
            most = len(attributes) - 1
            raise _Fault(f"the place {place} comes after {last}; they ascend, from 0 to {most}")
        fields[place], last, start = _plain(value[1]), place, value.end()
        if line.startswith(",", start):
            start += 1
        elif not line.startswith("}", start):
            raise _Fault("the row has no } at its end; is it complete?")
    _refuse_rest(line[start + 1 :])
    return fields


def _refuse_rest(rest: str) -> None:
    rest = rest.strip()
    if re.match(r",?\s*\{", rest):
        raise _Fault(f"there is a weight behind the row, {rest[:20]!r}, and rows have none here; remove it")
    if not _only_comment(rest):
        raise _Fault(f"{rest[:30]!r} stands behind a value; put a comma between, or both in quotes")


def _only_comment(rest: str) -> bool:
    return not rest.strip() or rest.strip().startswith("%")


def _plain(word: str) -> tuple[str, bool]:
    """A word without quotes and escapes, and whether it had quotes."""
    if word[:1] not in ("'", '"') or len(word) < 2:
        return word.strip(), False
    return _ESCAPE.sub(lambda found: _escaped(found[1]), word[1:-1]), True


def _escaped(code: str) -> str:
    return chr(int(code[1:], 16)) if code[0] == "u" and len(code) == 5 else _ESCAPED.get(code, code)


def quoted(word: str) -> str:
    """A word as a file has it; in quotes, unless it is plain letters and digits."""
    if re.fullmatch(r"[\w.+-]+", word):
        return word
    for code, letter in (("\\", "\\"), ("'", "'"), ("n", "\n"), ("t", "\t"), ("r", "\r")):
        word = word.replace(letter, f"\\{code}")
    return f"'{word}'"


def _strptime(pattern: str, name: str) -> str:
    """Python's words for Java's pattern of a date."""
    parts, at = [], 0
    while at < len(pattern):
        found = _DATE_PART.match(pattern, at)
        if found is None or (found[2] and found[0] not in _DATE_PARTS):
            raise _Fault(f"the date of {name!r} has {pattern[at:]!r}; {', '.join(_DATE_PARTS)} are read")
        if found[2] and _DATE_PARTS[found[0]] in parts:
            raise _Fault(f"the date of {name!r} has {found[0]!r} twice; write each part once")
        literal = found[0] if found[1] is None else found[1] or "'"
        parts.append(_DATE_PARTS[found[0]] if found[2] else literal.replace("%", "%%"))
        at = found.end()
    return "".join(parts)


def _seconds(text: str, one: _Attribute, at: int) -> float:
    try:
        return seconds_of(datetime.datetime.strptime(text, one.date))
    except ValueError:
        what = f"the value {text!r} of {one.name!r} is no date of its pattern ({one.date})"
        raise _Fault(f"{what}; correct it", at) from None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(to_number(text))
    except ValueError:
        return False
