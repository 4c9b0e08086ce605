"""Rows whose values have names: dictionaries, and tables where a learner has `columns`."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..encoding import Columns, is_table
from ..numerics.rows import is_dictionary, require_computed

if TYPE_CHECKING:
    from .learner import Learner


def has_names(learner: "Learner", X: Any) -> bool:
    """Whether the values of these rows are known by their names; ValueError for what has names and is no rows."""
    if is_dictionary(X):
        raise ValueError("A dictionary is one row; give a list of rows, [x], or use learn_one(x, y) and scores_one(x).")
    require_computed(X)
    if is_table(X):
        if learner.columns is not None:
            return True
        heads = heads_of(X)
        if heads and learner._heads and heads != learner._heads:
            raise ValueError(
                f"The table's columns are {', '.join(heads)}; the learner learned {', '.join(learner._heads)}, and "
                "without columns=Columns() it goes by position: give these, in this order."
            )
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)


def heads_of(X: Any) -> list[str]:
    """The names of a table's columns, where all are text; nothing of other rows."""
    heads = list(getattr(X, "column_names", X.columns)) if is_table(X) else []
    return heads if all(isinstance(name, str) for name in heads) else []


def named_columns(learner: "Learner") -> Columns:
    """The learner's columns, also before the first row."""
    columns = Columns() if learner.columns is None else learner.columns
    if learner.width > max(1, columns.width):
        raise ValueError(
            f"The model has {learner.width} features, and {columns.width} of them have names: it has learned from "
            "rows without. Go on with such rows."
        )
    learner.columns, learner.grow_features = columns, True
    return columns


def follow(learner: "Learner", columns: Columns) -> None:
    """Go on with the columns of a source, which know what the learner's do."""
    with learner._turns.alone():
        mine = columns if learner.columns is None else named_columns(learner)
        known = len(mine.entries)
        for name, a, b in mine.differences(columns):
            if a != (b[:known] if name == "columns.entries" else b):
                raise ValueError(f"{name} of the learner and of its source differ: give the source the learner's.")
        learner.columns = columns
        named_columns(learner)


@contextlib.contextmanager
def taking_names(learner: "Learner", rows: Any) -> Iterator[Columns]:
    """The columns, which know of these rows those alone that were learned, where an error ends the context."""
    with learner._turns.alone():
        columns, start = named_columns(learner), learner.rows_learned
        mark = columns.mark()
    try:
        yield columns
    except BaseException:
        with learner._turns.alone():
            learner.columns = columns.before(mark)
            if learner.rows_learned > start:
                learner.columns.take(rows[: learner.rows_learned - start])
        raise
