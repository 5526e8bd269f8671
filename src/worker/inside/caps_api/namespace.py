"""(4) `caps` as user space sees it, built from the manifest alone.

A capability that is not granted has no wrapper: accessing it raises `CapabilityMissingError`, which
is a `PolicyDeniedError` and an `AttributeError`, so that `hasattr` returns False. A wrapper checks
its payload, sends a `CapabilityRequestMessage`, and turns the response into a record or an error.
It decides nothing; the broker does.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any, Self

from caps.protocol.connection import UNSENDABLE
from caps.protocol.errors import (
    CALL_ERRORS,
    USER_ERRORS,
    CapabilityMissingError,
    LimitExceededError,
    ProtocolError,
    ValidationError,
)
from caps.protocol.messages import (
    MAX_CALLS,
    REFUSED_REQUEST_MARGIN,
    CapabilityResponseMessage,
    ManifestEntry,
    ManifestMessage,
    StreamItemMessage,
)
from caps.protocol.text import nearest
from caps.worker.inside.aio.loop import Future
from caps.worker.inside.caps_api.payload_check import FastCheck, bind, in_words, problems_in
from caps.worker.inside.caps_api.record import record_of
from caps.worker.inside.caps_api.typed_values import from_json_like, to_json_like
from caps.worker.inside.channel.channel import Channel

OPTIONS_SCHEMA = {
    "properties": {
        "timeout_ms": {"type": ["integer", "null"], "minimum": 1, "maximum": 3_600_000},
        "idempotency_key": {"type": ["string", "null"], "minLength": 1, "maxLength": 256},
    }
}

_MAX_LISTED_PROBLEMS = 8
_ERRORS = {error.__name__: error for error in USER_ERRORS}


class RequestSender:
    """Sends requests for all wrappers of one execution, at most `concurrency` at a time.

    The host refuses requests over `limits.calls`, and ends a worker that ignores many refusals. So
    after some of them, this class refuses the requests itself.

    The host counts a request as in flight until it has responded, even if user space no longer
    waits. This class does the same: a slot is released when the response arrives, not when the
    caller is cancelled.
    """

    def __init__(
        self, channel: Channel, policy_id: str, concurrency: int, calls: int = MAX_CALLS
    ) -> None:
        self._channel = channel
        self._policy_id = policy_id
        self._calls = calls
        self._requests_left = calls + REFUSED_REQUEST_MARGIN
        self._concurrency = self._free = concurrency
        self._queue: deque[Future] = deque()
        self._request_numbers = itertools.count(1)
        self._on_answer = self._release_slot  # one object for all requests
        channel.cell_end_callbacks.append(self._reset)

    def take_slot(self) -> bool:
        """Whether there was a free slot, which `send` needs; else `wait_for_slot` takes one."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    async def items(
        self, fields: dict[str, Any], typed: Callable[[Any], Any]
    ) -> AsyncGenerator[Any, None]:
        """Send one request. Yield the items of its stream, `typed`, each when it is asked for.

        The stream holds its slot until the host has ended it. Nothing is awaited at an early end:
        a generator that is closed by the collector may not wait.
        """
        if not self.take_slot():
            await self.wait_for_slot()
        request_id, answer = self.send(fields)
        try:
            while isinstance(message := await answer, StreamItemMessage):
                yield typed(message.item)
                answer = self._channel.next_item(request_id, self._release_slot)
            unwrap(message)
        finally:
            self._channel.stop_items(request_id)

    def send(self, fields: dict[str, Any]) -> tuple[str, Future]:
        """Send one request, which has a slot. Return its id and its future, for `unwrap`."""
        try:
            if not self._requests_left:
                raise self._over_calls(fields["capability"])
            number = f"r{next(self._request_numbers)}"
            response = self._channel.request(number, self._on_answer, fields)
            self._requests_left -= 1
        except UNSENDABLE as error:
            self._release_slot()  # nothing was sent, so no response will come
            problem = {"path": "$", "expected": "json-like data", "got": str(error)}
            raise _make_validation_error(fields["capability"], [problem]) from None
        except BaseException:
            self._release_slot()
            raise
        return number, response

    def _over_calls(self, capability: str) -> LimitExceededError:
        """The error of the host for the same refusal."""
        return LimitExceededError(
            f"`{capability}` is over `limits.calls` of policy `{self._policy_id}`, {self._calls}",
            capability=capability,
            reason="calls_exceeded",
            policy_id=self._policy_id,
            limit="calls",
            allowed=self._calls,
        )

    async def wait_for_slot(self) -> None:
        """Wait until a slot is free, and take it."""
        turn = self._channel.loop.future()
        self._queue.append(turn)
        try:
            await turn
        except BaseException:
            # Cancelled in the queue: a slot that was already assigned goes to the next one.
            if turn.done() and not turn.cancelled():
                self._release_slot()
            raise

    def _reset(self) -> None:
        """A new cell: the host starts counting again, and the old waiters are abandoned."""
        self._queue.clear()
        self._free = self._concurrency
        self._requests_left = self._calls + REFUSED_REQUEST_MARGIN

    def _release_slot(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn._finish(None, None)
                return
        self._free += 1


def unwrap(response: CapabilityResponseMessage) -> Any:
    """The result of a response. Raises the error of the broker."""
    failure = response.failure
    if failure is None:
        return response.result
    error = CALL_ERRORS.get(failure.code)
    if error is None:
        raise ProtocolError(f"an unknown failure `{failure.code}`", violation="malformed")
    raise error(failure.message, **failure.details)


class _Shared:
    """An object whose copy is the object itself: a real copy would copy the channel, too."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: Any) -> Self:
        return self


class Capability(_Shared):
    # One wrapper: `await caps.files.read(path="notes.txt")`. Its `__doc__` is that of the
    # capability, so the class has no docstring.
    __slots__ = (
        "__doc__",
        "_entry",
        "_fast_check",
        "_options",
        "_result_schema",
        "_schema",
        "_sender",
    )

    def __init__(
        self, sender: RequestSender, entry: ManifestEntry, options: dict[str, Any] | None = None
    ) -> None:
        self._sender = sender
        self._entry = entry
        self._options = options or {}
        # Built at the first call: most wrappers are never called.
        self._schema: dict[str, Any] = {}
        self._fast_check: FastCheck | None = None
        self._result_schema: dict[str, Any] | None = None
        self.__doc__ = entry.description or entry.title

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fields, sender = self._request(args, kwargs), self._sender
        if not sender.take_slot():
            await sender.wait_for_slot()
        _, answer = sender.send(fields)
        del args, kwargs, fields  # their memory is for the next call; often hundreds wait together
        return self._typed(unwrap(await answer))

    def _request(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The fields of the request with these arguments, checked."""
        entry, fast_check = self._entry, self._fast_check
        if fast_check is None:
            self._schema = entry.schema()
            fast_check = self._fast_check = FastCheck(self._schema)
            self._result_schema = entry.result_schema()
        try:
            payload = bind(self._schema, args, kwargs) if args else kwargs
        except TypeError as error:
            raise TypeError(f"caps.{entry.name}: {error}") from None
        if not fast_check.fits(payload):
            payload = to_json_like(payload, self._schema, self._schema)
            problems = problems_in(payload_schema(self._schema), payload, self._schema)
            if problems:
                raise _make_validation_error(entry.name, problems)
        return {"capability": entry.name, "payload": payload, **self._options}

    def _typed(self, result: Any) -> Any:
        schema = self._result_schema
        return record_of(result) if schema is None else from_json_like(result, schema, schema)

    def options(
        self, *, timeout_ms: int | None = None, idempotency_key: str | None = None
    ) -> Capability:
        """The same capability with a deadline, or with a key that makes retries harmless."""
        chosen = {"timeout_ms": timeout_ms, "idempotency_key": idempotency_key}
        problems = problems_in(OPTIONS_SCHEMA, chosen, OPTIONS_SCHEMA, "options")
        if problems:
            raise _make_validation_error(self._entry.name, problems)
        given = {name: value for name, value in chosen.items() if value is not None}
        copy = type(self)(self._sender, self._entry, {**self._options, **given})
        copy._schema, copy._fast_check = self._schema, self._fast_check
        copy._result_schema = self._result_schema
        return copy

    def __repr__(self) -> str:
        names = ", ".join(self._entry.schema().get("properties", ()))
        return f"<capability caps.{self._entry.name}({names})>"


class StreamCapability(Capability):
    # `async for item in caps.logs.tail(...)`: the same, with items instead of a result.
    __slots__ = ("__doc__",)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        items: Any = self._sender.items(self._request(args, kwargs), self._typed)
        items.__name__ = items.__qualname__ = f"caps.{self._entry.name}"
        return items


def payload_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema to check a payload with; an empty schema accepts no arguments."""
    return schema or {"type": "object", "additionalProperties": False}


def _make_validation_error(name: str, problems: list[dict[str, str]]) -> ValidationError:
    listed = [in_words(one) for one in problems[:_MAX_LISTED_PROBLEMS]]
    more = len(problems) - len(listed)
    return ValidationError(
        f"`{name}`: {'; '.join(listed)}{f' (and {more} more)' if more else ''}",
        capability=name,
        problems=problems,
    )


class Domain(_Shared):
    """`caps.files`: the granted capabilities of one domain."""

    __slots__ = ("_entries", "_name", "_policy_id", "_sender", "_wrappers")

    def __init__(
        self, name: str, policy_id: str, sender: RequestSender, entries: dict[str, ManifestEntry]
    ) -> None:
        self._name = name
        self._policy_id = policy_id
        self._sender = sender
        self._entries = entries
        self._wrappers: dict[str, Capability] = {}

    def __getattribute__(self, name: str) -> Any:
        # For each call. Without this the interpreter would make an error before `__getattr__`. No
        # wrapper has the name of another attribute: theirs begin with a letter.
        found = _wrappers_of(self).get(name)
        return object.__getattribute__(self, name) if found is None else found

    def __getattr__(self, function: str) -> Capability:
        # Wrappers are kept in a mapping, not as attributes of the instance: nothing can be set.
        if function.startswith("_"):
            raise AttributeError(function)
        entry = self._entries.get(function)
        if entry is None:
            raise make_missing_error(
                f"{self._name}.{function}", self._policy_id, function, self._full_names()
            )
        kind = StreamCapability if entry.streams else Capability
        found = self._wrappers[function] = kind(self._sender, entry)
        return found

    def _full_names(self) -> dict[str, str]:
        return {function: f"{self._name}.{function}" for function in self._entries}

    def __dir__(self) -> list[str]:
        return sorted(self._entries)

    def __repr__(self) -> str:
        return f"<caps.{self._name}: {', '.join(sorted(self._entries))}>"


_wrappers_of: Callable[[Domain], dict[str, Capability]] = vars(Domain)["_wrappers"].__get__


class Namespace(_Shared):
    """`caps`: the granted domains, and the errors that a call may raise."""

    __slots__ = ("_calls", "_channel", "_concurrency", "_domains", "_manifest")

    def __init__(
        self, manifest: ManifestMessage, channel: Channel, concurrency: int, calls: int
    ) -> None:
        self._manifest = manifest
        self._channel = channel
        self._concurrency = concurrency
        self._calls = calls
        self._domains: dict[str, Domain] | None = None

    def __getattribute__(self, name: str) -> Any:
        domains = _domains_of(self)
        found = None if domains is None else domains.get(name)  # as in `Domain`
        return object.__getattribute__(self, name) if found is None else found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        domains = self._granted()
        found = domains.get(name) or _ERRORS.get(name)
        if found is None:
            policy_id = self._manifest.policy_id
            raise make_missing_error(name, policy_id, name, {known: known for known in domains})
        return found

    def __dir__(self) -> list[str]:
        return sorted([*self._granted(), *_ERRORS])

    def __repr__(self) -> str:
        return f"<caps: {', '.join(sorted(self._granted())) or 'nothing granted'}>"

    def _granted(self) -> dict[str, Domain]:
        if self._domains is not None:
            return self._domains
        policy_id = self._manifest.policy_id
        sender = RequestSender(self._channel, policy_id, self._concurrency, self._calls)
        by_domain: dict[str, dict[str, ManifestEntry]] = {}
        for entry in self._manifest.capabilities:
            domain, _, function = entry.name.partition(".")
            by_domain.setdefault(domain, {})[function] = entry
        self._domains = {
            name: Domain(name, policy_id, sender, entries) for name, entries in by_domain.items()
        }
        return self._domains


_domains_of: Callable[[Namespace], dict[str, Domain] | None] = vars(Namespace)["_domains"].__get__


def make_missing_error(
    full_name: str, policy_id: str, name: str, candidates: dict[str, str]
) -> CapabilityMissingError:
    """The error of accessing `full_name`; `candidates` maps similar short names to full ones."""
    near = nearest(name, candidates, max_characters=None)
    if near is not None:
        hint = f"; did you mean `{candidates[near]}`?"
    else:
        hint = f"; granted: {', '.join(sorted(candidates.values())) or 'nothing'}"
    return CapabilityMissingError(
        f"`{full_name}` is not granted by policy `{policy_id}`{hint}",
        capability=full_name,
        reason="not_granted",
        policy_id=policy_id,
    )


def build_namespace(
    manifest: ManifestMessage, channel: Channel, concurrency: int, calls: int = MAX_CALLS
) -> Namespace:
    """`caps` for one execution. Its parts are created when they are first accessed: much code uses
    none, many capabilities may be granted, and few are used."""
    return Namespace(manifest, channel, concurrency, calls)
