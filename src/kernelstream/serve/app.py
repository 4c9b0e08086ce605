"""The HTTP face: FastAPI's routes over a service."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException

from .. import __version__
from ..engine import disk
from ..learner import Learner
from . import pages, schemas
from .guard import Guard
from .model import Served
from .operations import FULL, SMALL, Asked, Operations, looked_at, scores_of
from .protocol import LENGTH, VERSION, inferred, read_inference, unpacked
from .records import Refusal, Rows, encoded
from .schemas import PROBLEMS
from .service import Service
from .settings import Settings
from .specs import ModelSpec
from .state import JSON_TYPE, Answer
from .store import StoreError
from .telemetry import Telemetry

logger = logging.getLogger("kernelstream.serve")

_EVENTS = 1.0  # seconds between what a page that watches is told


def make_app(settings: Settings) -> tuple[Any, Any]:
    """The application, which reads all models when it starts and writes them when it stops, and its state."""
    service = Service(settings)
    telemetry = Telemetry(settings, lambda: [service.described(model) for model in list(service.models.values())])
    operations = Operations(service)
    watching = asyncio.Semaphore(settings.most_streams)
    stopping = asyncio.Event()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        stopping.set()
        await asyncio.get_running_loop().run_in_executor(None, service.stop)
        telemetry.flush()

    app = FastAPI(
        title="kernelstream",
        version=__version__,
        summary="Models that keep learning.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
    )
    app.state.stopping = stopping
    app.state.service = service

    def may(scope: str) -> Any:
        """A dependency: who asks has a token of this scope, where there are tokens."""

        async def check(request: Request) -> None:
            service.require(request.headers.get("authorization"), scope, request.scope["told"])

        return Depends(check)

    predicting, learning, admin = may("predict"), may("learn"), may("admin")

    def named(request: Request, operation: str, name: str) -> Served:
        request.scope["told"] |= {"operation": operation, "model": name[:80]}
        return service.model(name)

    # Rows: described here, and handed on by Guard without a way through FastAPI.

    @app.post(
        "/v2/models/{name}/learn", openapi_extra=schemas.LEARN, response_model=schemas.Learned, dependencies=[learning]
    )
    async def learn(request: Request, name: str) -> Response:
        """Predict, then learn, one row after the other. Durable when it is answered."""
        return _response(await operations.answer("learn", name, Asked(request.scope, await request.body())))

    @app.post(
        "/v2/models/{name}/predict",
        openapi_extra=schemas.PREDICT,
        response_model=schemas.Predicted,
        dependencies=[predicting],
    )
    async def predict(request: Request, name: str) -> Response:
        """Labels or values, scores, probabilities. Rows with ids wait, durably, for their labels."""
        return _response(await operations.answer("predict", name, Asked(request.scope, await request.body())))

    @app.post(
        "/v2/models/{name}/labels",
        openapi_extra=schemas.LABELS,
        response_model=schemas.Labelled,
        dependencies=[learning],
    )
    async def labels(request: Request, name: str) -> Response:
        """Learn rows that were predicted with ids, each once."""
        return _response(await operations.answer("labels", name, Asked(request.scope, await request.body())))

    # The Open Inference Protocol.

    @app.get("/v2")
    async def server() -> dict[str, Any]:
        return {"name": "kernelstream", "version": __version__, "extensions": ["binary_tensor_data"]}

    @app.get("/v2/health/live")
    async def live() -> dict[str, bool]:
        return {"live": True}

    @app.get("/v2/health/ready")
    async def ready() -> JSONResponse:
        return JSONResponse({"ready": service.ready}, 200 if service.ready else 503)

    @app.get("/v2/models/{name}/ready", dependencies=[predicting])
    async def model_ready(request: Request, name: str) -> JSONResponse:
        model = named(request, "ready", name)
        fine = model.ready.is_set() and not model.failed
        return JSONResponse({"name": name, "ready": fine}, 200 if fine else 503)

    @app.post(
        "/v2/models/{name}/infer",
        openapi_extra=schemas.INFER,
        response_model=schemas.Inferred,
        dependencies=[predicting],
    )
    async def infer(request: Request, name: str) -> Response:
        """Predictions by the Open Inference Protocol."""
        model = named(request, "infer", name)
        body, packed = await request.body(), request.headers.get("Content-Encoding")

        def reading() -> tuple[Any, Rows]:
            return read_inference(unpacked(body, packed, settings.most_body), request.headers.get(LENGTH))

        many = len(body) > SMALL or packed is not None
        asked, rows = await asyncio.get_running_loop().run_in_executor(None, reading) if many else reading()
        if rows.n > settings.most_rows:
            raise Refusal(f"There are {rows.n:,} rows; {settings.most_rows:,} are the most (most_rows).", 413)
        found, begins = await looked_at(model, rows, partial(_inferred, name, asked))
        request.scope["told"]["rows"] = rows.n
        headers = {LENGTH: str(begins)} if begins is not None else {}
        return Response(found, media_type=schemas.OCTETS if headers else JSON_TYPE, headers=headers)

    def versioned(name: str, version: str) -> None:
        service.model(name)
        if version != VERSION:
            raise Refusal(f"The model {name!r} has no version {version!r:.40}; it has {VERSION!r}.", 404)

    @app.get("/v2/models/{name}/versions/{version}", response_model=schemas.Described, dependencies=[predicting])
    async def version_described(request: Request, name: str, version: str) -> Response:
        """What a model is; it has one version."""
        versioned(name, version)
        return await describe(request, name)

    @app.get("/v2/models/{name}/versions/{version}/ready", dependencies=[predicting])
    async def version_ready(request: Request, name: str, version: str) -> JSONResponse:
        versioned(name, version)
        return await model_ready(request, name)

    @app.post(
        "/v2/models/{name}/versions/{version}/infer",
        openapi_extra=schemas.INFER,
        response_model=schemas.Inferred,
        dependencies=[predicting],
    )
    async def version_inferred(request: Request, name: str, version: str) -> Response:
        """Predictions by the Open Inference Protocol."""
        versioned(name, version)
        return await infer(request, name)

    # Models.

    @app.get("/v2/models", response_model=schemas.Listed, dependencies=[predicting])
    async def models(request: Request) -> Response:
        """All models."""
        request.scope["told"]["operation"] = "list"
        return _json({"models": [service.described(model) for model in service.models.values()]})

    @app.put(
        "/v2/models/{name}",
        openapi_extra=schemas.asked(ModelSpec),
        response_model=schemas.Described,
        dependencies=[admin],
        responses={201: {"model": schemas.Described}},
    )
    async def make(request: Request, name: str) -> Response:
        """Make a model; one that is there already, and is the same, stays as it is."""
        request.scope["told"] |= {"operation": "make", "model": name[:80]}
        spec = _parsed(ModelSpec, await request.body())
        model, new = await service.make(name, spec)
        return _json(service.described(model), 201 if new else 200)

    @app.get("/v2/models/{name}", response_model=schemas.Described, dependencies=[predicting])
    async def describe(request: Request, name: str) -> Response:
        """What a model is, and how it does."""
        return _json(service.described(named(request, "describe", name)))

    @app.delete("/v2/models/{name}", status_code=204, response_class=Response, dependencies=[admin])
    async def delete(request: Request, name: str) -> Response:
        """Delete a model with its log and its snapshots."""
        named(request, "delete", name)
        await service.delete(name)
        return Response(status_code=204)

    @app.get("/v2/models/{name}/history", response_model=schemas.History, dependencies=[predicting])
    async def history(request: Request, name: str) -> Response:
        """The error along the stream, before each row was learned."""
        course = named(request, "history", name).state.course
        window = len(course.newest)
        return _json(
            {"metric": course.metric, "window": window, "points": list(course.points), "drifts": list(course.marks)}
        )

    @app.get(
        "/v2/models/{name}/file",
        response_class=FileResponse,
        dependencies=[predicting],
        responses={200: {"content": {schemas.OCTETS: {}}}},
    )
    async def download(request: Request, name: str) -> FileResponse:
        """The model file of all that was acknowledged."""
        path = await service.file_of(named(request, "download", name))
        return FileResponse(
            path, media_type=schemas.OCTETS, filename=f"{name}.ks", background=BackgroundTask(path.unlink)
        )

    @app.put(
        "/v2/models/{name}/file",
        openapi_extra=schemas.UPLOAD,
        response_model=schemas.Described,
        dependencies=[admin],
        responses={201: {"model": schemas.Described}},
    )
    async def upload(request: Request, name: str) -> Response:
        """Go on with the model of a file; makes the model where there is none."""
        request.scope["told"] |= {"operation": "upload", "model": name[:80]}
        model, new = await service.upload(name, await request.body())
        return _json(service.described(model), 201 if new else 200)

    @app.post(
        "/v2/models/{name}/snapshots",
        openapi_extra=schemas.asked(schemas.SnapshotName),
        status_code=201,
        response_model=schemas.Kept,
        dependencies=[admin],
    )
    async def snapshot(request: Request, name: str) -> Response:
        """Keep the model as it is under a name."""
        model = named(request, "snapshot", name)
        made = await service.snapshot(model, _parsed(schemas.SnapshotName, await request.body()).name)
        return _json({"name": made.name, "made": made.made, "rows_learned": made.rows}, 201)

    @app.post("/v2/models/{name}/snapshots/{kept}/restore", response_model=schemas.Restored, dependencies=[admin])
    async def restore(request: Request, name: str, kept: str) -> Response:
        """Go back to a snapshot: what was learned since is forgotten."""
        return _response(await service.restore(named(request, "restore", name), kept))

    @app.delete("/v2/models/{name}/snapshots/{kept}", status_code=204, response_class=Response, dependencies=[admin])
    async def forget(request: Request, name: str, kept: str) -> Response:
        """Delete a snapshot."""
        await service.forget(named(request, "forget", name), kept)
        return Response(status_code=204)

    # What people and Prometheus look at.

    @app.get("/metrics", dependencies=[predicting], response_class=Response)
    async def metrics(request: Request) -> Response:
        """For Prometheus."""
        request.scope["told"]["operation"] = "metrics"
        return Response(generate_latest(telemetry.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get(
        "/v2/events",
        dependencies=[predicting],
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    async def events(request: Request) -> StreamingResponse:
        """What the page shows, told anew every second (server-sent events)."""
        request.scope["told"]["operation"] = "events"
        if watching.locked():
            raise Refusal(f"{settings.most_streams} pages watch already (most_streams).", 503)

        async def told() -> AsyncIterator[bytes]:
            async with watching:
                while not stopping.is_set():
                    now = {
                        "at": time.time(),
                        "models": [service.described(model) for model in service.models.values()],
                        "latency": {name: telemetry.latency(name) for name in ("predict", "learn", "labels")},
                    }
                    yield b"data: " + encoded(now) + b"\n\n"
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(stopping.wait(), _EVENTS)

        return StreamingResponse(told(), media_type="text/event-stream")

    pages.add(app)

    # Errors are told as the protocol does.

    @app.exception_handler(Refusal)
    async def refusal(request: Request, error: Refusal) -> Response:
        wait = {"Retry-After": "1"} if error.status in (429, 503, 507) else {}
        ask = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
        return JSONResponse({"error": str(error)}, error.status, headers=wait | ask)

    @app.exception_handler(StoreError)
    @app.exception_handler(disk.OutputError)
    async def full(request: Request, error: OSError) -> Response:
        logger.warning("%s", error)
        return JSONResponse({"error": FULL}, 507, headers={"Retry-After": "1"})

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return JSONResponse({"error": _told(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def known(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code, headers=error.headers)

    schemas.add_tokens(app.openapi())
    return Guard(app, operations, settings, telemetry), app.state


def _inferred(name: str, asked: Any, learner: Learner, rows: Rows) -> tuple[bytes, int | None]:
    return inferred(name, asked, learner, scores_of(learner, rows))


def _response(answer: Answer) -> Response:
    headers = {"Retry-After": "1"} if answer.status in (429, 503, 507) else None
    return Response(answer.body, answer.status, headers, answer.type)


def _json(value: Any, status: int = 200) -> Response:
    return Response(encoded(value), status, media_type=JSON_TYPE)


def _parsed(kind: Callable[..., Any], body: bytes) -> Any:
    """A pydantic model of a body, whatever type the client says that it has: curl says that it is a form."""
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(body)  # type: ignore[attr-defined]
    except ValidationError as error:
        raise Refusal(_told(error.errors())) from None


def _told(errors: Any) -> str:
    """What pydantic found, in one line."""
    parts = []
    for one in errors[:5]:
        place = ".".join(str(part) for part in one["loc"])
        parts.append(f"{place}: {one['msg']}" if place else str(one["msg"]))
    return "; ".join(parts)
