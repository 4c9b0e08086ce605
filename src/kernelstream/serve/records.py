"""What clients say in rows: JSON, lines of JSON, Arrow; one function reads a record, be it new or from the log.

A record of the log is what a request said, in the format in which it came (lines of JSON are kept as JSON). It is read
by the function that checked it when it came, so that what is learned from the log is what was learned from the request.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np

from ..encoding import Columns
from ..encoding.tables import DATE, NUMBER, WORD, is_text
from ..encoding.values import HASH, date_width, is_dated

LEARN, SHOW, LABEL, BECOME = "learn", "show", "label", "become"  # kinds of records
JSON, ARROW = "json", "arrow"  # formats of records

Value: TypeAlias = str | float | bool | None
Label: TypeAlias = str | int | float | bool

MOST_LETTERS = 200  # of an id
LARGEST_LABEL = 2**53
FORM = "application/x-www-form-urlencoded"


class Refusal(ValueError):
    """A request cannot be taken; `status` is that of the answer."""

    def __init__(self, message: str, status: int = 422):
        super().__init__(message)
        self.status = status


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON of a request that brings rows."""

    rows: list[dict[str, Value] | list[float | None]]
    labels: list[Label] | None = None
    ids: list[str] | None = None
    weights: list[float] | None = None


class Labels(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON of a request that brings labels of rows that wait."""

    labels: dict[str, Label]


class Names(msgspec.Struct, frozen=True):
    """The columns of lines or of an Arrow table that are no features."""

    label: str = "label"
    id: str = "id"
    weight: str = "weight"


class Rows(NamedTuple):
    """Rows as a learner takes them: dictionaries, a table, or a matrix where features have no names."""

    X: Any
    n: int
    labels: Any = None
    ids: list[str] | None = None
    weights: Any = None

    @property
    def named(self) -> bool:
        return not isinstance(self.X, np.ndarray)


class Record(NamedTuple):
    """One entry of a model's log."""

    kind: str
    format: str
    body: bytes
    at: float  # seconds since 1970
    names: Names = Names()
    key: str | None = None  # the client's, under which the answer is kept
    digest: bytes = b""  # of the request, for who uses a key twice


_body: Any = msgspec.json.Decoder(Body)
_labels: Any = msgspec.json.Decoder(Labels)
_line: Any = msgspec.json.Decoder(dict[str, Value])
encoded = msgspec.json.encode


def read(record: Record) -> Rows:
    """The rows of a record; Refusal for what are none."""
    if record.kind == LABEL:
        labels = _decoded(_labels, record.body).labels
        for label in labels.values():
            _check_label(label)
        for id in labels:
            _check_id(id)
        return Rows(None, len(labels), list(labels.values()), list(labels))
    rows = _of_arrow(record) if record.format == ARROW else _of_json(record.body)
    if rows.n == 0:
        raise Refusal("There are no rows; give one at least.")
    if isinstance(rows.labels, list) and len({isinstance(label, str) for label in rows.labels}) > 1:
        raise Refusal("Some labels are words and some are numbers; give them as one kind.")
    for what, given in (("labels", rows.labels), ("ids", rows.ids), ("weights", rows.weights)):
        if given is not None and len(given) != rows.n:
            raise Refusal(f"There are {rows.n} rows and {len(given)} {what}; give one for each row.")
    if record.kind == LEARN and rows.labels is None:
        raise Refusal("Rows to learn need their labels; rows without are for predict, with ids if labels come later.")
    for id in rows.ids or ():
        _check_id(id)
    if rows.ids is not None and len(set(rows.ids)) < rows.n:
        raise Refusal("An id stands for two rows; give each row its own.")
    return rows


def plain_type(given: str | None) -> str:
    """A Content-Type without its parameters."""
    return (given or "").partition(";")[0].strip().lower()


def require_type(given: str, *known: str) -> None:
    """Refuse a body of a type that is not asked for; who says none, or a form as curl does, is believed to mean it."""
    if given not in ("", FORM, *known):
        raise Refusal(f"The Content-Type {given!r:.80} is not taken here; send {' or '.join(known)}.", 415)


def features_of(rows: Rows, columns: Columns) -> int:
    """No rows bring more features than so many: names, words by their names, dates, places of hashed words."""
    if not rows.named:
        return rows.X.shape[1]
    each = max(2, 1 + date_width(columns.dates))
    values = sum(map(len, rows.X)) if isinstance(rows.X, list) else rows.X.num_columns * rows.n
    return each * values + (columns.hash_features if columns.categorical == HASH else 0)


def new_features(rows: Rows, columns: Columns) -> int:
    """How many features rows bring that are not among those of a model."""
    if isinstance(rows.X, list):
        names = {name for row in rows.X for name in row}
        dated: set[Any] = set()
        said = {(name, value) for row in rows.X for name, value in row.items() if isinstance(value, str)}
    else:
        names, kinds = set(rows.X.column_names), rows.X.schema
        dated = {name for name in names if is_dated(kinds.field(name).type)}
        texts = [name for name in names if is_text(kinds.field(name).type)]
        said = {(name, word) for name in texts for word in rows.X.column(name).unique().to_pylist()}
    dated |= {name for name, word in said if columns.is_dated(name, word or "")}
    words = {pair for pair in said if pair[0] not in dated}
    new = len(names - set(columns.names)) + date_width(columns.dates) * len(dated - set(columns.names))
    if columns.categorical == HASH:
        return new + (columns.hash_features if words and not columns.is_hashing else 0)
    return new + len(words - {(name, word) for kind, name, word in columns.entries if kind == WORD})


def check_kinds(rows: Rows, columns: Columns) -> None:
    """Refuse a word where a name has had numbers, and a number where it has had words: it would be a feature of its
    own, and the name's values of two kinds from then on. Values of a date's name are looked at where they are read.
    """
    if not isinstance(rows.X, list):
        for name, column in zip(rows.X.column_names, rows.X.columns, strict=True):
            kind = WORD if is_text(column.type) else DATE if is_dated(column.type) else NUMBER
            known = columns.kinds_of(name)
            if known and column.null_count < len(column) and not {kind, DATE} & set(known):
                raise _of_another_kind(f"The column {name!r:.80} holds {kind}s", name, known)
        return
    fitting: dict[str, tuple[bool, bool]] = {}  # whether numbers fit, and text
    for t, row in enumerate(rows.X):
        for name, value in row.items():
            text = type(value) is str
            if value is None or (name in fitting and fitting[name][text]):
                continue
            known = columns.kinds_of(name)
            if name not in fitting:
                if not known and value == "" and columns.dates:
                    continue  # it may become a date
                kinds = known or [(DATE if columns.is_dated(name, value) else WORD) if text else NUMBER]
                fitting[name] = DATE in kinds or NUMBER in kinds, DATE in kinds or WORD in kinds
            if not fitting[name][text]:
                where = f"Row {t}: the" if rows.n > 1 else "The"
                what = f"{where} value {value!r:.60} of {name!r:.80} is a {WORD if text else NUMBER}"
                raise _of_another_kind(what, name, known or [NUMBER if text else WORD])


def _of_another_kind(what: str, name: str, known: list[str]) -> Refusal:
    return Refusal(
        f"{what}; {name!r:.80} has {known[0]}s, as its first row had. Send {known[0]}s, or null where one is missing."
    )


def of_lines(body: bytes, names: Names) -> bytes:
    """Lines of JSON, each a row with its label, id and weight among its values, as the JSON of one request."""
    rows: list[Any] = []
    apart: dict[str, list[Any]] = {name: [] for name in (names.label, names.id, names.weight)}
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            try:
                row = _line.decode(line)
            except (msgspec.MsgspecError, RecursionError) as error:
                raise Refusal(f"Line {number}: {error}.") from None
            for name, found in apart.items():
                if name in row:
                    found.append(row.pop(name))
            rows.append(row)
    given: dict[str, Any] = {"rows": rows}
    for what, name in (("labels", names.label), ("ids", names.id), ("weights", names.weight)):
        if apart[name]:
            if len(apart[name]) != len(rows):
                raise Refusal(f"{len(apart[name])} of {len(rows)} lines have a {name!r}; give it in all or in none.")
            given[what] = apart[name]
    return encoded(given)


def _decoded(decoder: Any, body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise Refusal(f"The body is not the JSON that is asked for: {error}.") from None


def _of_json(body: bytes) -> Rows:
    given = _decoded(_body, body)
    rows, n = given.rows, len(given.rows)
    for label in given.labels or ():
        _check_label(label)
    for weight in given.weights or ():
        if not 0.0 <= weight < math.inf:
            raise Refusal(f"The weight {weight!r} must be a number not less than 0.")
    rest = (n, given.labels, given.ids, given.weights)
    if n == 0 or type(rows[0]) is dict:
        if any(type(row) is not dict for row in rows):
            raise Refusal("Rows are all objects or all lists; these are both.")
        if any(not row for row in rows):
            raise Refusal("A row has no values; give one at least.")
        return Rows(rows, *rest)
    lengths = {len(row) if type(row) is list else -1 for row in rows}
    if len(lengths) > 1 or min(lengths) < 1:
        raise Refusal("Rows that are lists have equally many values, one at least, and stand among no objects.")
    for t, row in enumerate(rows):
        if None in row:
            raise Refusal(f"Row {t}: a value is missing. Only rows that are objects, with names, may miss values.")
    return Rows(np.array(rows, np.float64), *rest)


def _check_label(label: Any) -> None:
    if isinstance(label, float | int) and not abs(label) <= LARGEST_LABEL:
        raise Refusal(f"The label {label!r:.40} is beyond {LARGEST_LABEL:,}.")
    if isinstance(label, str) and len(label) > MOST_LETTERS:
        raise Refusal(f"The label {label[:40]!r}... has {len(label)} letters; {MOST_LETTERS} are the most.")


def _check_id(id: Any) -> None:
    if not (isinstance(id, str) and 0 < len(id) <= MOST_LETTERS):
        raise Refusal(f"The id {id!r:.60} must be text of 1 to {MOST_LETTERS} letters.")


def _of_arrow(record: Record) -> Rows:
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(pa.py_buffer(record.body)) as stream:
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, ValueError, OverflowError, OSError, MemoryError) as error:
        raise Refusal(f"The body is not an Arrow IPC stream: {str(error)[:200]}.") from None
    twice = [name for name in table.column_names if table.column_names.count(name) > 1]
    if twice:
        raise Refusal(f"Two columns are named {twice[0]!r}; rename one of them.")
    apart: dict[str, Any] = {}
    for what in ("label", "id", "weight"):
        name = getattr(record.names, what)
        if name in table.column_names:
            apart[what] = table.column(name)
            table = table.drop_columns([name])
    if table.num_columns == 0:
        raise Refusal("The table has no column of features.")
    labels = _labels_of_arrow(apart["label"]) if "label" in apart else None
    ids = apart["id"].to_pylist() if "id" in apart else None
    weights = _numbers(apart["weight"], "weight") if "weight" in apart else None
    return Rows(_features_of_arrow(table), table.num_rows, labels, ids, weights)


def _features_of_arrow(table: Any) -> Any:
    """The table; of one column of lists that are equally long a matrix, as its features have no names."""
    import pyarrow as pa

    kind = table.schema.types[0]
    if table.num_columns > 1 or not pa.types.is_fixed_size_list(kind):
        return table
    if kind.list_size == 0 or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        raise Refusal(f"The column {table.column_names[0]!r} holds {kind}; lists of features are of numbers.")
    column = table.column(0).combine_chunks()
    values = column.flatten() if not isinstance(column, pa.ChunkedArray) else pa.concat_arrays(column.chunks).flatten()
    if column.null_count or values.null_count:
        raise Refusal("A value is missing. Only columns with names may miss values.")
    return values.to_numpy(zero_copy_only=False).reshape(-1, kind.list_size)


def _labels_of_arrow(column: Any) -> Any:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if column.null_count:
        raise Refusal("A label is missing; give one for each row.")
    if is_text(kind):
        labels = column.to_pylist()
        for label in set(labels):
            _check_label(label)
        return np.array(labels)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        labels = column.to_numpy()
        if not pa.types.is_boolean(kind) and not (np.abs(labels.astype(np.float64)) <= LARGEST_LABEL).all():
            raise Refusal(f"A label is not a number within {LARGEST_LABEL:,}.")
        return labels
    raise Refusal(f"The labels are {kind}; they must be words, numbers or truth values.")


def _numbers(column: Any, what: str) -> Any:
    import pyarrow as pa

    if column.null_count or not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise Refusal(f"The column {what!r} must be numbers, none missing; it is {column.type}.")
    return column.to_numpy().astype(np.float64)
