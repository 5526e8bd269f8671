"""A route without a role cannot be made."""

from __future__ import annotations

import pytest
from fastapi import APIRouter

from caps.protocol.errors import ConfigurationError
from caps.service.secured_route import SecuredRoute, needs
from caps.service.signin.roles import Role


@pytest.mark.parametrize("extra", [None, {}, {"x-caps-role": "boss"}])
def test_a_route_without_a_role_fails_at_start_up(extra: dict[str, str] | None) -> None:
    """So nobody can forget it."""
    router = APIRouter(route_class=SecuredRoute)
    with pytest.raises(ConfigurationError, match="the route `/x` declares no role"):
        router.get("/x", openapi_extra=extra)(lambda: None)


def test_a_route_has_the_role_that_it_declares() -> None:
    """Also none, if it says so."""
    router = APIRouter(route_class=SecuredRoute)
    router.get("/x", openapi_extra=needs(Role.PUBLIC))(lambda: None)
    (route,) = router.routes
    assert isinstance(route, SecuredRoute)
    assert route.role is Role.PUBLIC
