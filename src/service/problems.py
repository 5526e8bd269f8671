"""Errors as RFC 9457 problem details: a stable `code`, one line for people, and the JSON path.

What is wrong with the host is never told to a caller: it goes into the log.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from caps.agents.tool_cards.errors import (
    CardChecksumError,
    CardConflictError,
    CardUnknownError,
)
from caps.protocol.errors import (
    AgentInvalidError,
    CallerFault,
    CapsError,
    ExecutionUnknownError,
    LimitExceededError,
    PolicyDeniedError,
    PolicyInvalidError,
    WorkerLostError,
)
from caps.security.policies.load import json_place
from caps.service.signin.tokens import SignInError
from caps.store.errors import StoreError

MEDIA_TYPE: Final = "application/problem+json"
MAX_PROBLEMS: Final = 32
_HIDDEN: Final = "the service failed; the log of the host says why"
_STATUSES: Final[tuple[tuple[type[CapsError], int], ...]] = (
    (CardChecksumError, 400),
    (CardConflictError, 409),
    (CardUnknownError, 404),
    (AgentInvalidError, 422),
    (PolicyInvalidError, 422),
    (ExecutionUnknownError, 404),
    (CallerFault, 422),
    (PolicyDeniedError, 403),
    (LimitExceededError, 429),
)

logger = logging.getLogger(__name__)


class Problem(HTTPException):
    """A request that cannot be answered as asked."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        path: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code
        self.path = path


def problem_response(
    status: int,
    code: str,
    detail: str,
    *,
    path: str | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """The answer that says what is wrong."""
    document = {
        "type": f"urn:caps:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **({} if path is None else {"path": path}),
        **more,
    }
    return Response(
        msgspec.json.encode(document), status, media_type=MEDIA_TYPE, headers=dict(headers or {})
    )


def add_error_handlers(app: FastAPI) -> None:
    """Every error of a request becomes a problem."""
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(SignInError, _of_sign_in)
    app.add_exception_handler(CapsError, _of_caps)
    app.add_exception_handler(Exception, _of_anything)


def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status, headers = error.status_code, dict(error.headers or {})
    if isinstance(error, Problem):
        return problem_response(status, error.code, error.detail, path=error.path, headers=headers)
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request))
    phrase = HTTPStatus(status).phrase.lower()
    return problem_response(status, phrase.replace(" ", "_"), phrase, headers=headers)


def _methods(request: Request) -> list[str]:
    """All methods of the path: each has a route of its own, and one route knows only its own."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found.update(getattr(route, "methods", None) or ())
    return sorted(found)


def _of_validation(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [
        {"path": _place(each["loc"]), "detail": str(each["msg"])}
        for each in error.errors()[:MAX_PROBLEMS]
    ]
    first = problems[0]
    return problem_response(
        422, "request_invalid", first["detail"], path=first["path"], problems=problems
    )


def _place(location: tuple[str | int, ...]) -> str:
    """A place in the body, or the name of a parameter with its kind in front."""
    if location[0] == "body":
        return json_place(location[1:]) if len(location) > 1 else "$"
    return ".".join(map(str, location))


def _of_sign_in(_request: Request, error: Exception) -> Response:
    assert isinstance(error, SignInError)
    challenge = "Bearer" if error.code == "token_missing" else 'Bearer error="invalid_token"'
    return problem_response(401, error.code, str(error), headers={"WWW-Authenticate": challenge})


def _of_caps(request: Request, error: Exception) -> Response:
    assert isinstance(error, CapsError)
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            place, problems = error.details.get("place"), error.details.get("problems")
            more = {} if problems is None else {"problems": problems}
            return problem_response(status, error.code, error.message, path=place, **more)
    logger.error("%s %a failed", request.method, request.url.path, exc_info=error)
    if isinstance(error, StoreError):
        return problem_response(503, error.code, error.for_callers)
    if isinstance(error, WorkerLostError):
        return problem_response(503, error.code, "no worker could run it; try again")
    return problem_response(500, error.code, _HIDDEN)


def _of_anything(_request: Request, _error: Exception) -> Response:
    """The error itself is logged by the server."""
    return problem_response(500, "internal_error", _HIDDEN)
