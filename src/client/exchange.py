"""The steps of a request, without IO: what to send, when to wait, when to try again, when to stop.

A program yields steps and is sent their outcomes; a driver carries them out. So the synchronous and
the asynchronous client do the same.

A request is sent again only if that cannot have its effect twice:
- it never left, or was refused before anything was done (429): any request;
- it may have been received, or the service failed (5xx): one that can be repeated, which is a GET,
  or a POST with an idempotency key that the service keeps in its store.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Generator
from typing import Any, Final, TypeVar

import msgspec

from caps.client.errors import (
    ClientError,
    ServiceFailedError,
    ServiceUnreachableError,
    TooManyRequestsError,
    WaitTimeoutError,
)
from caps.client.message import IDEMPOTENCY_KEY, Answer, Request, problem_of
from caps.client.settings import ClientSettings
from caps.protocol.errors import ConfigurationError

T = TypeVar("T")

# 501 and 505 stay as they are, whenever they are asked.
_TRANSIENT: Final = frozenset({500, 502, 503, 504})
_FIRST_POLL: Final = 0.05
_MAX_POLL: Final = 2.0


class Send(msgspec.Struct, frozen=True):
    """Send this, and return the Answer, or the ClientError without one."""

    request: Request[Any]


class Sleep(msgspec.Struct, frozen=True):
    seconds: float


Step = Send | Sleep
Outcome = Answer | ClientError | None
Program = Generator[Step, Outcome, T]


def exchange(request: Request[T], settings: ClientSettings) -> Program[T]:
    """Send `request`, again where that is safe. Raises ClientError, and ConfigurationError."""
    if len(request.body or b"") > settings.max_request_bytes:
        raise ConfigurationError(f"a request has at most {settings.max_request_bytes} bytes")
    for attempt in range(1, settings.attempts + 1):
        outcome = yield Send(request)
        if isinstance(outcome, Answer):
            if outcome.status in request.accepted:
                return request.read(outcome)
            error: ClientError = problem_of(outcome)
        else:
            assert isinstance(outcome, ClientError)
            error = outcome
        if attempt == settings.attempts or not may_repeat(request, error):
            raise error
        yield Sleep(pause_before(attempt + 1, settings, error))
    raise AssertionError("there is at least one attempt")


def may_repeat(request: Request[Any], error: ClientError) -> bool:
    """Whether sending it again cannot have its effect twice."""
    if isinstance(error, TooManyRequestsError):
        return True
    if isinstance(error, ServiceUnreachableError):
        return request.is_repeatable or not error.sent
    if isinstance(error, ServiceFailedError):
        return request.is_repeatable and error.problem.status in _TRANSIENT
    return False


def pause_before(attempt: int, settings: ClientSettings, error: ClientError) -> float:
    """Seconds: what the service asks for, else twice as long each time, with a random part."""
    asked = getattr(error, "retry_after", None)
    doubled = float(settings.first_pause_seconds * 2 ** (attempt - 2))
    wanted = doubled * (0.5 + random.random() / 2) if asked is None else asked  # noqa: S311
    return min(wanted, settings.max_pause_seconds)


def with_key(request: Request[T], key: str | None) -> Request[T]:
    """With an idempotency key, a new one if none is given, so that it can be repeated."""
    headers = {**request.headers, IDEMPOTENCY_KEY: key or uuid.uuid4().hex}
    return msgspec.structs.replace(request, headers=headers, is_repeatable=True)


def poll_pauses(execution_id: str, seconds: float | None) -> Generator[float, None, None]:
    """The pauses between polls. Raises WaitTimeoutError after `seconds`."""
    deadline = None if seconds is None else time.monotonic() + seconds
    pause = _FIRST_POLL
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise WaitTimeoutError(
                f"execution `{execution_id}` goes on after {seconds:g} seconds",
                execution_id=execution_id,
            )
        yield pause if left is None else min(pause, left)
        pause = min(pause * 1.5, _MAX_POLL)
