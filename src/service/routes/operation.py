"""For operators and tools: whether it lives, whether it is ready, metrics, and the description."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from caps.capabilities.telemetry.http_server import render_metrics
from caps.service.bodies import answer
from caps.service.description.shapes import OBJECT, named
from caps.service.problems import Problem
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import ServiceGiven
from caps.service.signin.roles import Role
from caps.store.migrate import current_version

router = APIRouter(route_class=SecuredRoute, tags=["operation"])


@router.get("/healthz", openapi_extra=needs(Role.PUBLIC, answers={200: named("Status")}))
async def is_alive() -> Response:
    """The process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", openapi_extra=needs(Role.PUBLIC, answers={200: named("Status")}))
async def is_ready(service: ServiceGiven) -> Response:
    """New requests are welcome: the store answers, and the service is not about to stop."""
    if service.draining:
        raise Problem(503, "draining", "the service is about to stop")
    await service.store.read(current_version)
    return answer({"status": "ok"})


@router.get("/metrics", openapi_extra=needs(Role.VIEWER), response_class=PlainTextResponse)
async def get_metrics(request: Request) -> Response:
    """Prometheus metrics."""
    from prometheus_client import REGISTRY

    page = render_metrics(REGISTRY, request.headers.get("accept"))
    return Response(page.body, headers={"Content-Type": page.content_type})


@router.get("/openapi.json", openapi_extra=needs(Role.PUBLIC, answers={200: OBJECT}))
async def get_description(request: Request) -> Response:
    """This API, as OpenAPI describes it."""
    return answer(request.app.openapi())
