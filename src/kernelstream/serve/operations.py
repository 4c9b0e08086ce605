"""Operations on rows: learn, predict, labels. They are asked without FastAPI's way, which takes a request with one row
longer than all that is done for it.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from ..engine import disk
from ..learner import Learner
from ..tasks import MULTICLASS
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
    read,
)
from .schemas import NDJSON
from .service import Service
from .specs import ModelSpec, learner_of
from .state import ARROW_TYPE, Answer, check_names, predicted, refused
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
        return (self.header(b"content-type") or "").partition(";")[0].strip().lower()


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
        self._check_features(model, rows)
        return await model.submit(record, rows)

    async def _predict(self, model: Served, asked: Asked) -> Answer:
        record, fresh = _record(asked, SHOW, _names(asked)), _is_fresh(asked)
        rows = await self._rows(asked, record)
        if rows.labels is not None or rows.weights is not None:
            raise Refusal("Rows to predict have no labels and no weights; leave them out, or use learn.")
        if rows.ids is not None:
            self._check_features(model, rows)
            return await model.submit(record, rows)
        if fresh:
            await model.fresh()
        return await looked_at(model, rows, partial(_predicted, arrow=record.format == ARROW))

    async def _labels(self, model: Served, asked: Asked) -> Answer:
        record = _record(asked, LABEL, Names())._replace(format=JSON)
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

    def _check_features(self, model: Served, rows: Rows) -> None:
        """Refuse rows that would make a model too wide; names that it knows already count for nothing."""
        most = self._settings.most_features
        with model.reading() as published:
            learner = published.learner
            width = 0 if learner is None or not rows.named else learner.width
            found = features_of(rows)
            if width + found > most and rows.named:
                columns = None if learner is None else learner.columns
                found = new_features(rows, () if columns is None else columns.entries)
        if found and width + found > most:
            raise Refusal(
                f"The model has {width:,} features and these rows bring {found:,}; {most:,} are the most "
                "(most_features).",
                413,
            )


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
        check_names(learner, rows)
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
