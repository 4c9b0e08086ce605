"""Routes: what can be asked of a service over HTTP, and what is answered; FastAPI describes it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, ValidationError
from starlette.background import BackgroundTask

from .. import __version__
from ..learner import Learner
from . import schemas
from .model import Served
from .operations import SMALL, Asked, looked_at, scores_of
from .protocol import LENGTH, VERSION, inferred, read_inference, rows_of
from .records import Refusal, Rows, encoded, plain_type, require_type
from .schemas import BODY, CHANGE, NAMED, OPEN, READ, problems
from .service import Service
from .specs import ModelSpec
from .state import JSON_TYPE, Answer

_EVENTS = 1.0  # seconds between what a page that watches is told

router = APIRouter()


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def named(request: Request, operation: str, name: str) -> Served:
    """The model that is asked for; the log's line says what it is asked."""
    request.scope["told"] |= {"operation": operation, "model": name[:80]}
    return service_of(request).model(name)


# Rows: described here, and handed on by Guard without a way through FastAPI.


async def _asked(operation: str, request: Request, name: str) -> Response:
    asked = Asked(request.scope, await request.body())
    return _response(await request.app.state.operations.answer(operation, name, asked))


@router.post(
    "/v2/models/{name}/learn",
    openapi_extra=schemas.LEARN,
    response_model=schemas.Learned,
    responses=problems(*CHANGE, *NAMED, *BODY, 429, 507),
)
async def learn(request: Request, name: str) -> Response:
    """Predict, then learn, one row after the other. Durable when it is answered."""
    return await _asked("learn", request, name)


@router.post(
    "/v2/models/{name}/predict",
    openapi_extra=schemas.PREDICT,
    response_model=schemas.Predicted,
    responses=problems(*CHANGE, *NAMED, *BODY, 409, 429, 507),
)
async def predict(request: Request, name: str) -> Response:
    """Labels or values, scores, probabilities. Rows with ids wait, durably, for their labels."""
    return await _asked("predict", request, name)


@router.post(
    "/v2/models/{name}/labels",
    openapi_extra=schemas.LABELS,
    response_model=schemas.Labelled,
    responses=problems(*CHANGE, *NAMED, *BODY, 429, 507),
)
async def labels(request: Request, name: str) -> Response:
    """Learn rows that were predicted with ids, each once."""
    return await _asked("labels", request, name)


# The Open Inference Protocol.


@router.get("/v2", responses=problems(*OPEN))
async def server() -> dict[str, Any]:
    return {"name": "kernelstream", "version": __version__, "extensions": ["binary_tensor_data"]}


@router.get("/v2/health/live", responses=problems(*OPEN))
async def live() -> dict[str, bool]:
    return {"live": True}


@router.get("/v2/health/ready", responses=schemas.ready(*OPEN))
async def ready(request: Request) -> JSONResponse:
    is_ready = service_of(request).ready
    return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)


@router.get("/v2/models/{name}/ready", responses=schemas.ready(*READ, *NAMED))
async def model_ready(request: Request, name: str) -> JSONResponse:
    model = named(request, "ready", name)
    fine = model.ready.is_set() and not model.failed
    return JSONResponse({"name": name, "ready": fine}, 200 if fine else 503)


@router.post(
    "/v2/models/{name}/infer",
    openapi_extra=schemas.INFER,
    response_model=schemas.Inferred,
    responses=problems(*CHANGE, *NAMED, *BODY, 409),
)
async def infer(request: Request, name: str) -> Response:
    """Predictions by the Open Inference Protocol."""
    model, settings = named(request, "infer", name), service_of(request).settings
    body = await request.body()
    require_type(plain_type(request.headers.get("Content-Type")), JSON_TYPE, schemas.OCTETS)

    def reading() -> tuple[Any, Rows]:
        asked, columns = read_inference(body, request.headers.get(LENGTH))
        with model.reading() as published:
            return asked, rows_of(columns, published.learner)

    many = len(body) > SMALL
    asked, rows = await asyncio.get_running_loop().run_in_executor(None, reading) if many else reading()
    if rows.n > settings.most_rows:
        raise Refusal(f"There are {rows.n:,} rows; {settings.most_rows:,} are the most (most_rows).", 413)
    found, begins = await looked_at(model, rows, partial(_inferred, name, asked))
    request.scope["told"]["rows"] = rows.n
    headers = {LENGTH: str(begins)} if begins is not None else {}
    return Response(found, media_type=schemas.OCTETS if headers else JSON_TYPE, headers=headers)


def _check_version(request: Request, name: str, version: str) -> None:
    service_of(request).model(name)
    if version != VERSION:
        raise Refusal(f"The model {name!r} has no version {version!r:.40}; it has {VERSION!r}.", 404)


@router.get("/v2/models/{name}/versions/{version}", response_model=schemas.Described, responses=problems(*READ, *NAMED))
async def version_described(request: Request, name: str, version: str) -> Response:
    """What a model is; it has one version."""
    _check_version(request, name, version)
    return await describe(request, name)


@router.get("/v2/models/{name}/versions/{version}/ready", responses=schemas.ready(*READ, *NAMED))
async def version_ready(request: Request, name: str, version: str) -> JSONResponse:
    _check_version(request, name, version)
    return await model_ready(request, name)


@router.post(
    "/v2/models/{name}/versions/{version}/infer",
    openapi_extra=schemas.INFER,
    response_model=schemas.Inferred,
    responses=problems(*CHANGE, *NAMED, *BODY, 409),
)
async def version_inferred(request: Request, name: str, version: str) -> Response:
    """Predictions by the Open Inference Protocol."""
    _check_version(request, name, version)
    return await infer(request, name)


# Models.


@router.get("/v2/models", response_model=schemas.Listed, responses=problems(*READ))
async def models(request: Request) -> Response:
    """All models."""
    request.scope["told"]["operation"] = "list"
    service = service_of(request)
    return _json({"models": [service.described(model) for model in service.models.values()]})


@router.put(
    "/v2/models/{name}",
    openapi_extra=schemas.asked(ModelSpec),
    response_model=schemas.Described,
    responses={201: {"model": schemas.Described}, **problems(*CHANGE, *NAMED, *BODY, 409, 507)},
)
async def make(request: Request, name: str) -> Response:
    """Make a model; one that is there already, and is the same, stays as it is."""
    request.scope["told"] |= {"operation": "make", "model": name[:80]}
    service, spec = service_of(request), await _parsed(ModelSpec, request)
    model, new = await service.make(name, spec)
    return _json(service.described(model), 201 if new else 200)


@router.get("/v2/models/{name}", response_model=schemas.Described, responses=problems(*READ, *NAMED))
async def describe(request: Request, name: str) -> Response:
    """What a model is, and how it does."""
    return _json(service_of(request).described(named(request, "describe", name)))


@router.delete("/v2/models/{name}", status_code=204, response_class=Response, responses=problems(*CHANGE, *NAMED, 507))
async def delete(request: Request, name: str) -> Response:
    """Delete a model with its log and its snapshots."""
    named(request, "delete", name)
    await service_of(request).delete(name)
    return Response(status_code=204)


@router.get("/v2/models/{name}/history", response_model=schemas.History, responses=problems(*READ, *NAMED))
async def history(request: Request, name: str) -> Response:
    """The error along the stream, before each row was learned."""
    course = named(request, "history", name).state.course
    window = len(course.newest)
    return _json(
        {"metric": course.metric, "window": window, "points": list(course.points), "drifts": list(course.marks)}
    )


@router.get(
    "/v2/models/{name}/file",
    response_class=FileResponse,
    responses={200: {"content": {schemas.OCTETS: {}}}, **problems(*READ, *NAMED, 409, 507)},
)
async def download(request: Request, name: str) -> FileResponse:
    """The model file of all that was acknowledged."""
    path = await service_of(request).file_of(named(request, "download", name))
    return FileResponse(path, media_type=schemas.OCTETS, filename=f"{name}.ks", background=BackgroundTask(path.unlink))


@router.put(
    "/v2/models/{name}/file",
    openapi_extra=schemas.UPLOAD,
    response_model=schemas.Described,
    responses={201: {"model": schemas.Described}, **problems(*CHANGE, *NAMED, *BODY, 409, 507)},
)
async def upload(request: Request, name: str) -> Response:
    """Go on with the model of a file; makes the model where there is none."""
    request.scope["told"] |= {"operation": "upload", "model": name[:80]}
    require_type(plain_type(request.headers.get("Content-Type")), schemas.OCTETS)
    service = service_of(request)
    model, new = await service.upload(name, await request.body())
    return _json(service.described(model), 201 if new else 200)


@router.post(
    "/v2/models/{name}/snapshots",
    openapi_extra=schemas.asked(schemas.SnapshotName),
    status_code=201,
    response_model=schemas.Kept,
    responses=problems(*CHANGE, *NAMED, *BODY, 409, 507),
)
async def snapshot(request: Request, name: str) -> Response:
    """Keep the model as it is under a name."""
    model = named(request, "snapshot", name)
    wanted = await _parsed(schemas.SnapshotName, request)
    made = await service_of(request).snapshot(model, wanted.name)
    return _json({"name": made.name, "made": made.made, "rows_learned": made.rows}, 201)


@router.post(
    "/v2/models/{name}/snapshots/{kept}/restore",
    response_model=schemas.Restored,
    responses=problems(*CHANGE, *NAMED, 422, 507),
)
async def restore(request: Request, name: str, kept: str) -> Response:
    """Go back to a snapshot: what was learned since is forgotten."""
    return _response(await service_of(request).restore(named(request, "restore", name), kept))


@router.delete(
    "/v2/models/{name}/snapshots/{kept}",
    status_code=204,
    response_class=Response,
    responses=problems(*CHANGE, *NAMED, 507),
)
async def forget(request: Request, name: str, kept: str) -> Response:
    """Delete a snapshot."""
    await service_of(request).forget(named(request, "forget", name), kept)
    return Response(status_code=204)


# What people and Prometheus look at.


@router.get("/metrics", response_class=Response, responses=problems(*READ))
async def metrics(request: Request) -> Response:
    """For Prometheus."""
    request.scope["told"]["operation"] = "metrics"
    return Response(generate_latest(request.app.state.telemetry.registry), media_type=CONTENT_TYPE_LATEST)


@router.get(
    "/v2/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **problems(*READ)},
)
async def events(request: Request) -> StreamingResponse:
    """What the page shows, told anew every second (server-sent events)."""
    request.scope["told"]["operation"] = "events"
    state = request.app.state
    if state.watching.locked():
        most = state.service.settings.most_streams
        raise Refusal(f"{most} pages watch already (most_streams).", 503)
    return StreamingResponse(_told_on(state), media_type="text/event-stream")


async def _told_on(state: Any) -> AsyncIterator[bytes]:
    async with state.watching:
        while not state.stopping.is_set():
            now = {
                "at": time.time(),
                "models": [state.service.described(model) for model in state.service.models.values()],
                "latency": {name: state.telemetry.latency(name) for name in ("predict", "learn", "labels")},
            }
            yield b"data: " + encoded(now) + b"\n\n"
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(state.stopping.wait(), _EVENTS)


# What comes of it.


def _inferred(name: str, asked: Any, learner: Learner, rows: Rows) -> tuple[bytes, int | None]:
    return inferred(name, asked, learner, scores_of(learner, rows))


def _response(answer: Answer) -> Response:
    headers = {"Retry-After": "1"} if answer.status in (429, 503, 507) else None
    return Response(answer.body, answer.status, headers, answer.type)


def _json(value: Any, status: int = 200) -> Response:
    return Response(encoded(value), status, media_type=JSON_TYPE)


async def _parsed(kind: type[BaseModel], request: Request) -> Any:
    """A pydantic model of a body."""
    require_type(plain_type(request.headers.get("Content-Type")), JSON_TYPE)
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        raise Refusal(told_of(error.errors())) from None


def told_of(errors: Any) -> str:
    """What pydantic found, in one line."""
    parts = []
    for one in errors[:5]:
        place = ".".join(str(part) for part in one["loc"])
        words = str(one["msg"]).removeprefix("Value error, ")
        parts.append(f"{place}: {words}" if place else words)
    return "; ".join(parts)
