"""`/v1/capabilities`: what can be given to an agent."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from caps.capabilities.catalogue.declaration import listing
from caps.service.bodies import answer
from caps.service.description.shapes import WHOLE, named, shape
from caps.service.problems import Problem
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import ServiceGiven
from caps.service.signin.roles import Role

router = APIRouter(route_class=SecuredRoute, tags=["capabilities"])

_LISTING: Final = shape(items={"type": "array", "items": named("CapabilityItem")}, total=WHOLE)


@router.get("/v1/capabilities", openapi_extra=needs(Role.VIEWER, answers={200: _LISTING}))
async def list_capabilities(service: ServiceGiven) -> Response:
    """All capabilities, by id."""
    return answer(listing(service.runtime.registry.known_capabilities()))


@router.get(
    "/v1/capabilities/{capability_id}",
    openapi_extra=needs(Role.VIEWER, answers={200: named("Capability")}),
)
async def get_capability(capability_id: str, service: ServiceGiven) -> Response:
    """One capability with its tools and the schema of its settings."""
    for each in service.runtime.registry.known_capabilities():
        if each.key == capability_id:
            return answer(each.as_document())
    raise Problem(404, "capability_unknown", "there is no such capability")
