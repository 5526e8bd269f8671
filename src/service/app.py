"""The application: all routes, errors as problems, and the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from caps.protocol.errors import ConfigurationError
from caps.protocol.version import package_version
from caps.service.problems import MEDIA_TYPE, add_error_handlers
from caps.service.request_log import RequestLog
from caps.service.routes import (
    agents,
    approvals,
    audit,
    calls,
    capabilities,
    executions,
    operation,
    plans,
    policies,
    sessions,
    tools,
)
from caps.service.secured_route import ROLE, SecuredRoute
from caps.service.service import Service
from caps.service.signin.roles import Role

ROUTERS: Final = (
    operation.router,
    capabilities.router,
    agents.router,
    executions.router,
    calls.router,
    plans.router,
    tools.router,
    approvals.router,
    audit.router,
    policies.router,
    sessions.router,
)
_PROBLEM: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "path": {"type": "string"},
    },
}


def create_app(service: Service) -> FastAPI:
    """The application for an open service. ConfigurationError for a route without a role."""
    app = FastAPI(
        title="Caps", version=package_version(), openapi_url=None, docs_url=None, redoc_url=None
    )
    app.state.service = service
    add_error_handlers(app)
    app.add_middleware(RequestLog)
    for router in ROUTERS:
        for route in router.routes:
            if not isinstance(route, SecuredRoute):
                raise ConfigurationError(f"the route `{route}` declares no role")
        app.include_router(router)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def _described(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        components = document.setdefault("components", {})
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
        }
        components.setdefault("schemas", {})["Problem"] = _PROBLEM
        for operations in document["paths"].values():
            for operation_ in operations.values():
                _describe(operation_)
        app.openapi_schema = document
    return app.openapi_schema


def _describe(operation_: dict[str, Any]) -> None:
    """What FastAPI cannot know: the sign-in, and that every error is a problem."""
    if operation_[ROLE] != Role.PUBLIC.word:
        operation_["security"] = [{"bearer": []}]
    responses = operation_["responses"]
    responses.pop("422", None)
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    responses["default"] = {"description": "A problem", "content": {MEDIA_TYPE: problem}}
