"""The ASGI application: endpoints, errors, OpenAPI, health, metrics and the page."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response

import caps
from caps.errors import CapsError
from caps.serve.answers import problems
from caps.serve.claim import claimed
from caps.serve.feedback_routes import feedback_routes, version_routes
from caps.serve.guard import Guard
from caps.serve.model_routes import model_routes
from caps.serve.page import page_routes
from caps.serve.refits import Schedule
from caps.serve.refusals import FULL, Refusal, answer, disk_full
from caps.serve.series_routes import series_routes
from caps.serve.service import Service
from caps.serve.settings import Settings
from caps.serve.streams import stream_routes

log = logging.getLogger("caps.serve")
REMEDY = "see /openapi.json"


def create_app(settings: Settings, *, held: bool = False) -> FastAPI:
    """The service as an ASGI application; `held` says that its directory is claimed already."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with nullcontext() if held else claimed(settings.folder):
            service.start()
            schedule = asyncio.create_task(Schedule(service).run())
            yield
            schedule.cancel()
            await service.stop()

    app = FastAPI(
        title="CAPS",
        version=caps.__version__,
        summary="Label-free anomaly detection for time series.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        middleware=[Middleware(Guard, settings=settings, monitor=service.monitor)],
    )
    app.state.service = service
    # For the description alone: the guard looks at the token before anything else does.
    token = Depends(HTTPBearer(scheme_name="token", auto_error=False))
    protected = [] if settings.token is None else [token]
    for routes in (series_routes, model_routes, feedback_routes, version_routes, stream_routes):
        app.include_router(routes(service), dependencies=protected)
    app.include_router(page_routes())
    _add_operations(app, service, protected)
    _add_errors(app)
    return app


def _add_operations(app: FastAPI, service: Service, protected: list[Any]) -> None:
    refused = problems(403, 421)

    @app.get("/health", tags=["operation"], responses=refused)
    async def health() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok", "version": caps.__version__}

    @app.get("/ready", tags=["operation"], responses=refused | problems(503))
    async def ready() -> dict[str, str]:
        """Whether the service takes work."""
        if not service.ready:
            raise Refusal(503, "the service starts or stops", "try again in a moment")
        service.check_disk()
        return {"status": "ready"}

    @app.get(
        "/metrics",
        tags=["operation"],
        response_class=PlainTextResponse,
        responses=refused | problems(401),
        dependencies=protected,
    )
    async def metrics() -> Response:
        """Counters for Prometheus."""
        return PlainTextResponse(service.monitor.text(), media_type="text/plain; version=0.0.4")


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(CapsError)
    async def refusal(_: Request, error: CapsError) -> Response:
        return answer(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        return answer(Refusal(422, f"{field}: {first['msg']}"[:500], REMEDY))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        if isinstance(error.__cause__, CapsError):  # a body cut off while it was parsed
            return answer(error.__cause__)
        if error.status_code == 405:
            allowed = _methods(app, request.url.path)
            return answer(Refusal(405, "no such method here", f"use {allowed}", {"Allow": allowed}))
        return answer(Refusal(error.status_code, str(error.detail), REMEDY, error.headers))

    @app.exception_handler(OSError)
    async def unwritten(request: Request, error: OSError) -> Response:
        if error.errno not in FULL:
            raise error
        log.error("%s %s: %s", request.method, request.url.path, error)
        return answer(disk_full())

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        return answer(
            Refusal(500, "the service failed on this request", "see its log; others go on")
        )


def _methods(app: FastAPI, path: str) -> str:
    """All methods of a path: the router itself names those of one route only."""
    found = {
        method.upper()
        for template, methods in app.openapi()["paths"].items()
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path)
        for method in methods
    }
    return ", ".join(sorted(found or {"GET"}))
