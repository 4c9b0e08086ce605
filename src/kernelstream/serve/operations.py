"""Operations on rows: learn, predict, labels. They are asked without FastAPI's way, which takes a request with one row
longer than all that is done for it.
"""

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from ..encoding import Columns
from ..engine import disk
from ..learner import Learner
from ..tasks import MULTICLASS, Multiclass
from .model import Served
from .records import (
    ARROW,
    JSON,
    LABEL,
    LEARN,
    MOST_LETTERS,
    SHOW,
    Names,
    Record,
    Refusal,
    Rows,
    encoded,
    features_of,
    new_features,
    of_lines,
    plain_type,
    read,
    require_type,
)
from .room import require_room
from .schemas import NDJSON
from .service import Service
from .specs import ModelSpec, columns_of, learner_of
from .state import ARROW_TYPE, JSON_TYPE, Answer, check_rows, predicted, refused
from .store import StoreError

logger = logging.getLogger("kernelstream.serve")

SMALL = 65_536  # bytes of a body that is read in the event loop itself
_FEW = 64  # rows that are predicted in the event loop itself
_TRUTH = {"1": True, "true": True, "0": False, "false": False}
FULL = "The store cannot write, as its disk is full or fails: nothing has changed."


class Asked:
    """A request whose body is there."""

    def __init__(self, scope: Any, body: bytes):
        self.body, self.told = body, scope["told"]
        self._headers, self._query = scope["headers"], scope["query_string"]

    def header(self, name: bytes) -> str | None:
        return next((value.decode("latin-1") for key, value in self._headers if key == name), None)

    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self._query.decode("latin-1"), keep_blank_values=True)) if self._query else {}

    @property
    def type(self) -> str:
        return plain_type(self.header(b"content-type"))


class Operations:
    """What is asked of models with rows."""

    def __init__(self, service: Service):
        self._service, self._settings = service, service.settings
        self._each: dict[str, Callable[[Served, Asked], Awaitable[Answer]]] = {
            "learn": self._learn,
            "predict": self._predict,
            "labels": self._labels,
        }

    def find(self, scope: Any) -> tuple[str, str] | None:
        """The operation that a request is for, and its model; None for all others."""
        parts = scope["path"].split("/")
        if len(parts) != 5 or parts[1] != "v2" or parts[2] != "models" or scope["method"] != "POST":
            return None
        return (parts[4], parts[3]) if parts[4] in self._each else None

    async def answer(self, operation: str, name: str, asked: Asked) -> Answer:
        """The answer to a request, whatever it is."""
        try:
            return await self._each[operation](self._service.model(name), asked)
        except Refusal as error:
            return refused(error)
        except (StoreError, disk.OutputError) as error:
            logger.warning("%s", error)
            return Answer.of({"error": FULL}, 507)
        except Exception as error:
            logger.exception("%s of model %s", operation, name[:80])
            return Answer.of({"error": f"The service failed ({type(error).__name__}); its log says how."}, 500)

    async def _learn(self, model: Served, asked: Asked) -> Answer:
        record = _record(asked, LEARN, _names(asked))
        rows = await self._rows(asked, record)
        if rows.ids is not None:
            raise Refusal("Rows to learn have their labels, and so no ids; leave them out.")
        await self._require_room(model, rows)
        return await model.submit(record, rows)

    async def _predict(self, model: Served, asked: Asked) -> Answer:
        record, fresh = _record(asked, SHOW, _names(asked)), _is_fresh(asked)
        rows = await self._rows(asked, record)
        if rows.labels is not None or rows.weights is not None:
            raise Refusal("Rows to predict have no labels and no weights; leave them out, or use learn.")
        if rows.ids is not None:
            await self._require_room(model, rows)
            return await model.submit(record, rows)
        if fresh:
            await model.fresh()
        return await looked_at(model, rows, partial(_predicted, arrow=record.format == ARROW))

    async def _labels(self, model: Served, asked: Asked) -> Answer:
        record = _record(asked, LABEL, Names())
        return await model.submit(record, await self._rows(asked, record))

    async def _rows(self, asked: Asked, record: Record) -> Rows:
        """The rows of a request; many are read beside the event loop."""
        if len(record.body) > SMALL:
            rows = await asyncio.get_running_loop().run_in_executor(None, read, record)
        else:
            rows = read(record)
        most = self._settings.most_rows
        if rows.n > most:
            raise Refusal(f"There are {rows.n:,} rows; {most:,} are the most (most_rows).", 413)
        asked.told["rows"] = rows.n
        return rows

    async def _require_room(self, model: Served, rows: Rows) -> None:
        """Refuse rows that would make a model too wide or too large; names that it knows already count for nothing."""
        most = self._settings.most_model_bytes
        with model.reading() as published:
            learner, size = published.learner, published.size
            if size > most:
                raise Refusal(
                    f"The model has grown to {size:,} bytes; {most:,} are the most (most_model_bytes). Predictions, "
                    "and labels of rows that wait, go on. Raise most_model_bytes, or make one with a smaller budget."
                )
            columns = columns_of(model.spec) if learner is None or learner.columns is None else learner.columns
            width = 0 if learner is None else learner.width
            found = features_of(rows, columns) if rows.named else max(0, rows.X.shape[1] - width)
            labels = 0 if model.spec.task != MULTICLASS or rows.labels is None else rows.n
            # Wider by some, a model takes no more than by the square of it.
            near = size * ((width + found) / max(1, width) * (1 + labels)) ** 2 <= most
            if width > 0 and near and width + found <= self._settings.most_features:
                return
            look = partial(self._look_for_room, model, learner, columns, rows)
            await asyncio.get_running_loop().run_in_executor(None, look)

    def _look_for_room(self, model: Served, learner: Learner | None, columns: Columns, rows: Rows) -> None:
        settings, width = self._settings, 0 if learner is None else learner.width
        found = new_features(rows, columns) if rows.named else max(0, rows.X.shape[1] - width)
        if found and width + found > settings.most_features:
            raise Refusal(
                f"The model has {width:,} features and these rows bring {found:,}; {settings.most_features:,} are the "
                "most (most_features).",
                413,
            )
        labels = [] if rows.labels is None else list(rows.labels)
        made = learner_of(model.spec, named=rows.named, label=labels[0] if labels else 0)
        learner = learner or made
        task = learner.task
        if learner.grow_classes and labels and isinstance(task, Multiclass):
            with contextlib.suppress(ValueError):  # words among numbers, which are refused where they are learned
                task = task.grown(labels)
        if width == 0 or found or task is not learner.task:
            require_room(learner.algorithm, task, learner.dtype, max(1, width + found), settings.most_model_bytes)


async def looked_at(model: Served, rows: Rows, work: Callable[[Learner, Rows], Any]) -> Any:
    """What comes of rows that the published model sees; few are looked at here, many beside the event loop."""
    model.require_open()
    with model.reading() as published:
        if published.learner is not None and rows.n <= _FEW:
            return _looked_at(published.learner, rows, work)
        look = partial(_looked_at, published.learner or model.spec, rows, work)
        return await asyncio.get_running_loop().run_in_executor(None, look)


def _looked_at(learner: Learner | ModelSpec, rows: Rows, work: Callable[[Learner, Rows], Any]) -> Any:
    """What comes of rows; what a learner cannot do with them is the client's error."""
    try:
        if isinstance(learner, ModelSpec):
            if learner.task == MULTICLASS and learner.classes is None:
                raise Refusal("Nothing was learned yet and no classes are announced: learn a row first.", 409)
            learner = learner_of(learner, named=rows.named, label=None)
        check_rows(learner, rows)
        return work(learner, rows)
    except Refusal:
        raise
    except (ValueError, FloatingPointError) as error:
        raise Refusal(str(error)) from None


def scores_of(learner: Learner, rows: Rows) -> np.ndarray:
    return learner.scores_one(rows.X[0])[None] if rows.n == 1 and type(rows.X) is list else learner.scores(rows.X)


def _predicted(learner: Learner, rows: Rows, *, arrow: bool) -> Answer:
    return predicted(learner, scores_of(learner, rows), arrow=arrow)


def _record(asked: Asked, kind: str, names: Names) -> Record:
    key, type_, body = asked.header(b"idempotency-key"), asked.type, asked.body
    require_type(type_, *([JSON_TYPE] if kind == LABEL else [JSON_TYPE, NDJSON, ARROW_TYPE]))
    if key is not None and not 0 < len(key) <= MOST_LETTERS:
        raise Refusal(f"The Idempotency-Key has {len(key)} letters; it must have 1 to {MOST_LETTERS}.")
    digest = b""
    if key is not None:
        digest = hashlib.sha256(b"\0".join((kind.encode(), type_.encode(), encoded(names), body))).digest()
    if type_ == NDJSON:
        body = of_lines(body, names)
    return Record(kind, ARROW if type_ == ARROW_TYPE else JSON, body, time.time(), names, key, digest)


def _names(asked: Asked) -> Names:
    """The columns of lines of JSON, or of an Arrow table, that are no features."""
    given = asked.query()
    if not given:
        return Names()
    found = [given.get(what, what).replace("\0", "") for what in ("label", "id", "weight")]
    for name in found:
        if len(name) > MOST_LETTERS:
            raise Refusal(f"The column {name[:40]!r}... has {len(name)} letters; {MOST_LETTERS} are the most.")
    return Names(*found)


def _is_fresh(asked: Asked) -> bool:
    told = asked.query().get("fresh", "false").lower()
    if told not in _TRUTH:
        raise Refusal(f"fresh={told!r:.40} must be one of {', '.join(_TRUTH)}.")
    return _TRUTH[told]
