"""Every route goes through here: sign-in, role, limits, and only then its function.

A route says which role it needs; one that says nothing cannot be made, so the service does not
start with it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from caps.protocol.errors import ConfigurationError, ProtocolError
from caps.protocol.framing import check_json_like, check_json_text
from caps.security.policies.plain_json import NotJsonError
from caps.security.policies.strict_json import strict_json
from caps.service.problems import MEDIA_TYPE, Problem
from caps.service.signin.roles import Principal, Role
from caps.service.signin.tokens import SignInError

ROLE: Final = "x-caps-role"
_NOT_READABLE: Final = (
    msgspec.MsgspecError,
    NotJsonError,
    ProtocolError,
    RecursionError,
    UnicodeError,
)


def needs(
    role: Role, *problems: int, answers: Mapping[int, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """`@router.get(path, openapi_extra=needs(Role.VIEWER))`.

    For the description: the statuses of problems that not every such route has, and the schemas of
    answers in JSON, by status.
    """
    described: dict[str, Any] = {str(each): problem_answer(str(each)) for each in problems}
    for status, schema in (answers or {}).items():
        content = {"application/json": {"schema": schema}}
        described[str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
    return {ROLE: role.word, "responses": described}


def problem_answer(status: str) -> dict[str, Any]:
    """How the description lists a status that comes with a problem."""
    phrase = HTTPStatus(int(status)).phrase if status.isdecimal() else "The service failed"
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {"description": phrase, "content": {MEDIA_TYPE: problem}}


class StrictRequest(Request):
    """A request whose JSON is read strictly, and within limits."""

    async def json(self) -> Any:
        """Raises Problem (400) for what is not JSON, too deep, too much, or has a key twice."""
        body = await self.body()
        try:
            check_json_text(body)
            value = msgspec.json.decode(body)
            check_json_like(value)
            strict_json(body.decode())
        except _NOT_READABLE as error:
            what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise Problem(400, "json_invalid", f"the body cannot be read: {what}") from None
        return value


class SecuredRoute(APIRoute):
    """A route with a role."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        openapi_extra: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        word = (openapi_extra or {}).get(ROLE, "")
        try:
            self.role = Role[str(word).upper()]
        except KeyError:
            raise ConfigurationError(f"the route `{path}` declares no role") from None
        super().__init__(path, endpoint, openapi_extra=openapi_extra, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises SignInError and Problem."""
        service = scope["app"].state.service
        bounded = _bounded(scope, receive, service.limits.body_bytes)
        if self.role is Role.PUBLIC:
            await super().handle(scope, bounded, send)
            return
        principal = await service.verifier.principal(authorization_of(scope))
        scope.setdefault("state", {})["principal"] = principal
        if principal.role < self.role:
            raise Problem(
                403,
                "role_too_low",
                f"this needs the role `{self.role.word}`, and the token has "
                f"`{principal.role.word}`",
            )
        if principal.is_confined:
            raise Problem(
                403, "token_confined", "the token is for an agent or has a policy; use it at `/mcp`"
            )
        with service.principals.request(principal.name):
            await super().handle(scope, bounded, send)


def caller_of(request: Request) -> Principal:
    """Who asks; a route with a role has one."""
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


def authorization_of(scope: Scope) -> str | None:
    given = Headers(scope=scope).getlist("authorization")
    if len(given) > 1:
        raise SignInError("token_invalid", "there are several `Authorization` headers")
    return given[0] if given else None


def _bounded(scope: Scope, receive: Receive, limit: int) -> Receive:
    """`receive` for a body of at most `limit` bytes; Problem (413) for more."""
    announced = Headers(scope=scope).get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise _too_large(limit)
    left = limit

    async def receive_bounded() -> Message:
        nonlocal left
        message = await receive()
        if message["type"] == "http.request":
            left -= len(message.get("body", b""))
            if left < 0:
                raise _too_large(limit)
        return message

    return receive_bounded


def _too_large(limit: int) -> Problem:
    return Problem(413, "body_too_large", f"the body is over {limit} bytes")
