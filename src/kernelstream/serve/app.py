"""The application: routes over a service, errors as the protocol tells them, limits before all of it."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from .. import __version__
from ..engine import disk
from . import pages, routes, schemas
from .guard import Guard
from .operations import FULL, Operations
from .records import Refusal
from .service import Service
from .settings import Settings
from .store import StoreError
from .telemetry import Telemetry

logger = logging.getLogger("kernelstream.serve")


def make_app(settings: Settings) -> tuple[Any, Any]:
    """The application, which reads all models when it starts and writes them when it stops, and its state."""
    service = Service(settings)
    telemetry = Telemetry(settings, lambda: [service.described(model) for model in list(service.models.values())])
    operations = Operations(service)
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
        redirect_slashes=False,
    )
    app.state.service, app.state.operations, app.state.telemetry = service, operations, telemetry
    app.state.stopping, app.state.watching = stopping, asyncio.Semaphore(settings.most_streams)
    app.include_router(routes.router)
    pages.add(app)
    _add_errors(app)
    schemas.completed(app.openapi())
    return Guard(app, operations, service, telemetry), app.state


def _add_errors(app: FastAPI) -> None:
    """Errors are told as the protocol does."""

    @app.exception_handler(Refusal)
    async def refusal(request: Request, error: Refusal) -> Response:
        wait = {"Retry-After": "1"} if error.status in (429, 503, 507) else {}
        return JSONResponse({"error": str(error)}, error.status, headers=wait)

    @app.exception_handler(StoreError)
    @app.exception_handler(disk.OutputError)
    async def full(request: Request, error: OSError) -> Response:
        logger.warning("%s", error)
        return JSONResponse({"error": FULL}, 507, headers={"Retry-After": "1"})

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return JSONResponse({"error": routes.told_of(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def known(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code, headers=error.headers)
