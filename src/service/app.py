"""The application: all routes, errors as problems, and the OpenAPI document."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI

from caps.protocol.errors import ConfigurationError
from caps.protocol.version import package_version
from caps.service.description.document import described
from caps.service.problems import add_error_handlers
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
from caps.service.secured_route import SecuredRoute
from caps.service.service import Service

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
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app
