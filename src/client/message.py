"""Requests and answers as values; the answers are untrusted, and bounded while they arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from caps.client.errors import (
    AnswerInvalidError,
    PlaceProblem,
    Problem,
    ProblemError,
    ServiceTimeoutError,
    error_of,
)
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import printable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

IDEMPOTENCY_KEY: Final = "Idempotency-Key"
_MAX_DETAIL: Final = 2000
_MAX_RETRY_AFTER: Final = 3600.0


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        what = printable(str(error), 300)
        raise AnswerInvalidError(f"the answer is not what this client knows: {what}") from None


@contextmanager
def _sendable() -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError:
        raise ConfigurationError("the request has characters that are not text") from None


def converted(document: Any, kind: type[T]) -> T:
    """JSON that was read already as a value of this type. Raises AnswerInvalidError."""
    with _readable():
        return msgspec.convert(document, kind)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def decode(self, kind: type[T]) -> T:
        """The body as a value of this type. Raises AnswerInvalidError."""
        with _readable():
            return msgspec.json.decode(self.body, type=kind)


class Request(msgspec.Struct, Generic[T_co], frozen=True, kw_only=True):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Answer], T_co]
    accepted: frozenset[int] = frozenset({200})
    query: Mapping[str, str | int | tuple[str, ...] | None] = {}
    headers: Mapping[str, str | None] = {}
    body: bytes | None = None
    media_type: str = "application/json"
    is_repeatable: bool = False
    """Sending it twice has the effect of sending it once."""
    seconds: float | None = None
    """How long an attempt may take, if longer than by default."""
    max_bytes: int | None = None
    """How large the answer may be, if smaller than by default."""

    def target(self, prefix: str) -> str:
        query = {name: value for name, value in self.query.items() if value is not None}
        with _sendable():
            return prefix + self.path + (f"?{urlencode(query, doseq=True)}" if query else "")

    def bound(self, status: int, max_bytes: int) -> int:
        """How large an answer with this status may be. An error has the room that it needs."""
        if self.max_bytes is None or status not in self.accepted:
            return max_bytes
        return min(self.max_bytes, max_bytes)

    def header_pairs(self, token: str) -> list[tuple[str, str]]:
        given = {name: value for name, value in self.headers.items() if value is not None}
        for name, value in given.items():
            if not value.isascii() or not value.isprintable():
                raise ConfigurationError(f"`{name}` must be printable ASCII")
        if self.body is not None:
            given["Content-Type"] = self.media_type
        base = {"Accept": "*/*", "Accept-Encoding": "identity"}
        return [("Authorization", f"Bearer {token}"), *base.items(), *given.items()]


class Route(msgspec.Struct, frozen=True):
    """A method and a path of the API, as its description has them."""

    method: str
    template: str

    def path(self, **values: str | tuple[str, ...]) -> str:
        """The path with these values in it; several are segments, with `/` between them.

        Raises ConfigurationError for one that fits nowhere.
        """
        quoted: dict[str, str] = {}
        for name, value in values.items():
            segments = (value,) if isinstance(value, str) else value
            if any(each in ("", ".", "..") for each in segments):
                raise ConfigurationError(f"`{name}` must be the id of something")
            with _sendable():
                quoted[name] = "/".join(quote(each, safe="") for each in segments)
        return self.template.format(**quoted)


def json_body(fields: Mapping[str, Any]) -> bytes:
    """The fields that are not None. Raises ConfigurationError for what JSON cannot carry."""
    try:
        return msgspec.json.encode({key: each for key, each in fields.items() if each is not None})
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise ConfigurationError(f"the request is not JSON: {printable(str(error), 300)}") from None


def with_cursor(request: Request[T], cursor: str) -> Request[T]:
    """The request for the next page of a list."""
    return msgspec.structs.replace(request, query={**request.query, "cursor": cursor})


def read_as(kind: type[T]) -> Callable[[Answer], T]:
    return lambda answer: answer.decode(kind)


class BodyReader:
    """Collects the body of an answer, up to a size and a moment."""

    def __init__(self, max_bytes: int, deadline: float) -> None:
        self._left = max_bytes
        self._max_bytes = max_bytes
        self._deadline = deadline
        self._parts: list[bytes] = []

    def add(self, part: bytes) -> None:
        """Raises AnswerInvalidError and ServiceTimeoutError."""
        self._left -= len(part)
        if self._left < 0:
            raise AnswerInvalidError(f"the answer is larger than {self._max_bytes} bytes")
        if time.monotonic() > self._deadline:
            raise ServiceTimeoutError("the answer did not arrive in time", sent=True)
        self._parts.append(part)

    def body(self) -> bytes:
        return b"".join(self._parts)


def header_map(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}


def problem_of(answer: Answer) -> ProblemError | AnswerInvalidError:
    """The error that an answer without success amounts to."""
    if answer.status < 400:
        return AnswerInvalidError(
            f"the service answered with status {answer.status}; redirects are not followed"
        )
    if answer.headers.get("content-type", "").partition(";")[0] != "application/problem+json":
        problem = Problem(
            status=answer.status,
            code="unknown",
            detail=f"status {answer.status}, from something that is not the service",
        )
        return error_of(problem, _retry_after(answer))
    try:
        found = answer.decode(Problem)
    except AnswerInvalidError as error:
        return error
    detail = printable(found.detail, _MAX_DETAIL)
    places = tuple(
        PlaceProblem(path=printable(each.path), detail=printable(each.detail, _MAX_DETAIL))
        for each in found.problems
    )
    path = None if found.path is None else printable(found.path)
    problem = Problem(
        status=answer.status, code=found.code, detail=detail, path=path, problems=places
    )
    return error_of(problem, _retry_after(answer))


def _retry_after(answer: Answer) -> float | None:
    text = answer.headers.get("retry-after", "")
    return min(float(text[:9]), _MAX_RETRY_AFTER) if text.isdecimal() and text.isascii() else None
