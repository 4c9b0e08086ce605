"""The header of a model file: the form of its entries, those that a command adds too, and what must agree in it."""

from typing import Any

from ..encoding.known import check_encoding
from ..engine.state import COUNTS
from ..forms import (
    Form,
    by_name,
    each,
    every,
    label,
    nothing_or,
    number,
    record,
    text,
    truth,
    whole,
)
from ..parameters import LARGEST_SEED

_WIDEST = 2**31 - 1  # features that an index of a sparse row can name

# Entries that a file may lack are None there.
_ENTRIES: dict[str, Form] = {
    "algorithm": by_name,
    "settled": nothing_or(by_name),
    "task": by_name,
    "seed": whole(0, LARGEST_SEED),
    "dtype": text,
    "grow_features": truth,
    "grow_classes": truth,
    "threads": nothing_or(whole(1)),
    "n_seen": whole(0, COUNTS[1]),
    "width": whole(0, _WIDEST),
    "scaling": by_name,
    "columns": nothing_or(by_name),
    "waiting": nothing_or(record(most=whole(1), ids=every(label))),
    "opening": truth,
    "heads": nothing_or(every(text)),
    "encoding": nothing_or(by_name),
    "feature_names": nothing_or(every(text)),
    "judged": nothing_or(record(source=text, test=nothing_or(text), metrics=each(nothing_or(number())))),
}


def check_header(header: dict[str, Any]) -> None:
    """ValueError for what no learner and no run has written."""
    for name, form in _ENTRIES.items():
        form(header.get(name), name)
    width, names = header["width"], header.get("feature_names")
    if names is not None and len(names) < width:
        raise ValueError(f"its feature_names are {len(names)}, where its width says {width}")
    if header.get("encoding") is not None:
        check_encoding(header["encoding"], width, names)
