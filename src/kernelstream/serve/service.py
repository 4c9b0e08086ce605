"""Service: the store and its models, and what can be done with them."""

import asyncio
import math
import os
import re
import shutil
import sqlite3
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from ..engine.state import ModelFileError
from ..evaluate.settings import flat
from ..learner import Learner
from ..tasks import Classification
from . import tokens
from .model import Served, copied
from .protocol import described_tensors
from .records import BECOME, JSON, Record, Refusal
from .settings import Settings
from .specs import ModelSpec, algorithm_of, checked
from .state import Answer, State
from .store import TEMPORARY, Snapshot, Store, drop_model, make_model, on_disk

_FIRST = "0.ks"  # the file of a model that came as one
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Service:
    """What a process serves."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.store = Store(Path(settings.store))
        self.models: dict[str, Served] = {}
        self._savers = ThreadPoolExecutor(1, "saver")
        self._making = asyncio.Lock()
        self._tokens: dict[str, tuple[str, str]] = {}
        self._tokens_at = -math.inf

    def start(self) -> None:
        """Have all models read from the store, each by its own thread. Requires: an event loop."""
        for made in self.store.models():
            self.models[made.name] = Served(made, self.store, self.settings, self._savers)

    def stop(self) -> None:
        """Write all models, and let the store go."""
        for model in self.models.values():
            model.stop()
        for model in self.models.values():
            model.join()
        self._savers.shutdown()
        self.store.close()

    @property
    def ready(self) -> bool:
        return all(model.ready.is_set() and not model.failed for model in self.models.values())

    def tokens(self) -> dict[str, tuple[str, str]]:
        """(name, scope) by hash, at most a second old."""
        if time.monotonic() - self._tokens_at > 1.0:
            try:
                self._tokens, self._tokens_at = self.store.tokens(), time.monotonic()
            except sqlite3.Error as error:
                raise Refusal(f"The store cannot be read ({error}), and so nobody is known.", 503) from None
        return self._tokens

    def require(self, authorization: str, scope: str | None, told: dict[str, Any]) -> None:
        """Refuse whoever has no token of this scope, where there are tokens; `told` gets the token's name."""
        if scope is None:
            return
        known = self.tokens()
        if not known and self.settings.is_local:
            return
        kind, _, given = authorization.partition(" ")
        token = tokens.hashed(given.strip()) if kind.lower() == "bearer" else ""
        if token not in known:
            raise Refusal("This service asks for a token: Authorization: Bearer ks_...", 401)
        name, has = known[token]
        if not tokens.allows(has, scope):
            raise Refusal(f"The token {name!r} may {has}; this needs {scope}.", 403)
        told["token"] = name

    # Models.

    def model(self, name: str) -> Served:
        if name not in self.models:
            raise Refusal(f"There is no model {name!r:.80}; PUT /v2/models/NAME makes one.", 404)
        return self.models[name]

    async def make(self, name: str, spec: ModelSpec) -> tuple[Served, bool]:
        """The model of this name, and whether it is new; one that is there must be the same."""
        check_name(name, "model")
        spec = spec.model_copy(
            update={
                "waiting_rows": spec.waiting_rows or self.settings.waiting_rows,
                "waiting_seconds": spec.waiting_seconds or self.settings.waiting_seconds,
            }
        )
        async with self._making:
            if name in self.models:
                if self.models[name].spec != spec:
                    raise Refusal(f"There is another model {name!r}: DELETE it first, or choose another name.", 409)
                return self.models[name], False
            self._require_place()
            await asyncio.get_running_loop().run_in_executor(None, checked, spec, self.settings.most_model_bytes)
            return await self._made(name, spec, None), True

    async def _made(self, name: str, spec: ModelSpec, file: Path | None) -> Served:
        """A new model, of a file or without any row."""
        written = spec.model_dump(mode="json")

        def make(connection: sqlite3.Connection) -> int:
            id = make_model(connection, name, written, None if file is None else _FIRST)
            if file is not None:
                copied(file, self.store.model_folder(id) / _FIRST)
            return id

        id = await asyncio.get_running_loop().run_in_executor(None, self.store.wait, make)
        made = next(one for one in self.store.models() if one.id == id)
        model = Served(made, self.store, self.settings, self._savers)
        await model.ready.wait()
        self.models[name] = model
        return model

    def _require_place(self) -> None:
        if len(self.models) >= self.settings.most_models:
            raise Refusal(f"There are {len(self.models)} models, and most_models says so many may be.", 409)

    async def delete(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        async with self._making:
            model = self.model(name)
            model.closed = True  # nothing more is submitted
            try:
                await loop.run_in_executor(None, self.store.wait, lambda c: drop_model(c, model.id))
            except OSError:
                model.closed = False
                raise
            del self.models[name]
            model.stop(save=False)
            await loop.run_in_executor(None, model.join)
            await loop.run_in_executor(None, shutil.rmtree, self.store.model_folder(model.id), True)

    # Files.

    async def file_of(self, model: Served) -> Path:
        """A model file of what was acknowledged, which the caller removes."""
        with on_disk():
            descriptor, name = tempfile.mkstemp(".ks", TEMPORARY, self.store.folder)
        os.close(descriptor)
        try:
            await self._write(model, Path(name))
        except BaseException:
            Path(name).unlink()
            raise
        return Path(name)

    async def _write(self, model: Served, path: Path) -> int:
        """Write what was acknowledged to a file; how many rows it has learned."""
        published = await model.to_save()
        try:
            if published.learner is None:
                raise Refusal("Nothing was learned yet, so that there is nothing to write.", 409)
            save = partial(published.learner.save, path, serve=published.beside)
            await asyncio.get_running_loop().run_in_executor(None, save)
            return published.learner.rows_learned
        finally:
            model.leave(published)

    async def upload(self, name: str, body: bytes) -> tuple[Served, bool]:
        """Put the model of a file in the place of one, or make a new one of it."""
        check_name(name, "model")
        loop = asyncio.get_running_loop()
        async with self._making:
            with on_disk(), tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=self.store.folder) as folder:
                path = Path(folder, "upload.ks")
                path.write_bytes(body)
                spec = await loop.run_in_executor(None, _spec_of_file, path, self.settings)
                if name in self.models:
                    await self._go_back(self.models[name], path)
                    return self.models[name], False
                self._require_place()
                return await self._made(name, spec, path), True

    async def snapshot(self, model: Served, name: str) -> Snapshot:
        """Keep the model as it is under a name."""
        check_name(name, "snapshot")
        loop = asyncio.get_running_loop()
        async with self._making:
            if any(one.name == name for one in self.store.snapshots(model.id)):
                raise Refusal(f"There is a snapshot {name!r}; delete it first, or choose another name.", 409)
            file = f"named-{name}.ks"
            path = self.store.model_folder(model.id) / file
            made = Snapshot(name, file, time.time(), await self._write(model, path))
            query = "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)"
            values = (model.id, *made)
            await loop.run_in_executor(None, self.store.wait, lambda c: c.execute(query, values).rowcount)
        return made

    def _named(self, model: Served, name: str) -> Snapshot:
        for one in self.store.snapshots(model.id):
            if one.name == name:
                return one
        raise Refusal(f"The model {model.name!r} has no snapshot {name!r:.80}.", 404)

    async def restore(self, model: Served, name: str) -> Answer:
        """Go back to a snapshot."""
        return await self._go_back(model, self.store.model_folder(model.id) / self._named(model, name).file)

    async def _go_back(self, model: Served, path: Path) -> Answer:
        answer = await model.go_back(path, Record(BECOME, JSON, b"", time.time()))
        await model.fresh()
        return answer

    async def forget(self, model: Served, name: str) -> None:
        """Delete a snapshot."""
        snapshot = self._named(model, name)
        query = "DELETE FROM snapshots WHERE model=? AND name=?"
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.store.wait, lambda c: c.execute(query, (model.id, name)).rowcount)
        (self.store.model_folder(model.id) / snapshot.file).unlink(missing_ok=True)

    # What they are.

    def described(self, model: Served) -> dict[str, Any]:
        """All that is told of a model."""
        state = model.state
        learner, course = state.learner, state.course
        task = None if learner is None else learner.task
        classes = task.classes.tolist() if isinstance(task, Classification) else model.spec.classes
        with model.reading() as published:
            behind = time.time() - published.at if published.seq < model.applied else 0.0
            seen = 0 if published.learner is None else published.learner.rows_learned
        spec = algorithm_of(model.spec) if learner is None else learner.spec
        return {
            **described_tensors(model.name, learner, classes),
            "ready": model.ready.is_set() and not model.failed,
            "task": model.spec.task if task is None else task.name,
            "classes": classes,
            "algorithm": {"name": spec.name, **{k: _told(v) for k, v in flat(spec).items()}},
            "made": model.made,
            "rows_learned": state.rows_learned,
            "rows_waiting": len(state.shown),
            "rows_given_up": state.given_up,
            "rows_queued": model.queued,
            "named": None if learner is None else learner.columns is not None,
            "dates": [] if learner is None or learner.columns is None else learner.columns.dated,
            "features": 0 if learner is None else learner.width,
            "size": 0 if learner is None else learner.size,
            "bytes": 0 if learner is None else learner.n_bytes,
            "error": {
                "metric": course.metric,
                "rows": course.n,
                "all": _number(course.of_all),
                "newest": _number(course.of_newest),
                "window": len(course.newest),
                "drifts": list(course.marks),
                "risen": course.risen,
            },
            "drift": None if learner is None else _drift(learner),
            "published": {"rows_learned": seen, "behind_seconds": behind},
            "log": {"records": model.log_records, "bytes": model.log_bytes},
            "snapshots": [
                {"name": one.name, "made": one.made, "rows_learned": one.rows} for one in self.store.snapshots(model.id)
            ],
        }


def check_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise Refusal(
            f"The {what}'s name {name!r:.80} must begin with a letter or a digit and go on with letters, digits, "
            "dots, dashes and underscores, 64 at the most."
        )


def _spec_of_file(path: Path, settings: Settings) -> ModelSpec:
    """What a model file is, as one asks for it; Refusal for a file that is none."""
    try:
        learner, header = Learner.load_with_header(path)
        classes = learner.task.classes.tolist() if isinstance(learner.task, Classification) else None
        spec = ModelSpec(  # type: ignore[call-arg]
            task=learner.task.name,  # type: ignore[arg-type]
            classes=classes,
            algorithm=learner.algorithm.name,
            seed=learner.seed,
            dtype=learner.dtype,
            waiting_rows=settings.waiting_rows,
            waiting_seconds=settings.waiting_seconds,
        )
        State(spec).become(learner, header.get("serve"))
    except ModelFileError as error:
        raise Refusal(str(error).replace(str(path), "The file")) from None
    except ValueError as error:
        raise Refusal(f"The file cannot be served: {error}") from None
    return spec


def _drift(learner: Learner) -> dict[str, Any] | None:
    """What a model looks out for, and what it found."""
    drift, on_drift = learner.drift_choice
    if drift is None:
        return None
    watches = [str(watch) for watch in (drift if isinstance(drift, list) else [drift])]
    found = [one._asdict() for one in learner.drifts]
    return {"watches": watches, "on_drift": on_drift, "begun_anew": learner.times_begun_anew, "found": found}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _told(value: Any) -> Any:
    return (
        value
        if isinstance(value, str | int | bool | None) or (isinstance(value, float) and math.isfinite(value))
        else str(value)
    )
