"""(4) `caps` as user space sees it, built from the manifest and from nothing else.

What is not granted has no wrapper: touching it raises `CapabilityMissingError`, which is a
`PolicyDeniedError` and an `AttributeError`, so that `hasattr` is False. A wrapper checks its
payload, sends a `CapabilityRequestMessage`, and turns the answer into a record or an error. It
decides nothing; the broker does.
"""

from __future__ import annotations

import difflib
import itertools
from collections import deque
from typing import Any

from caps.protocol.errors import (
    CALL_ERRORS,
    USER_ERRORS,
    CapabilityMissingError,
    ProtocolError,
    ValidationError,
)
from caps.protocol.messages import CapabilityResponseMessage, ManifestEntry, ManifestMessage
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.aio.loop import Future
from caps.worker.inside.caps_api.payload_check import Shape, bind, problems_in
from caps.worker.inside.caps_api.record import record_of

OPTIONS_SCHEMA = {
    "properties": {
        "timeout_ms": {"type": ["integer", "null"], "minimum": 1, "maximum": 3_600_000},
        "idempotency_key": {"type": ["string", "null"], "minLength": 1, "maxLength": 256},
    }
}

_ERRORS = {error.__name__: error for error in USER_ERRORS}

# What the channel raises for a payload that the wire has no room for.
_UNSENDABLE = (ProtocolError, TypeError, ValueError, OverflowError, RecursionError)


class Caller:
    """Sends requests for all wrappers of one execution, at most `concurrency` at a time.

    The host counts a request until it has answered it, whether user space still waits or not, and
    so does this: a slot is free again when the answer comes, not when the caller is cancelled.
    """

    def __init__(self, channel: Channel, concurrency: int) -> None:
        self._channel = channel
        self._concurrency = self._free = concurrency
        self._queue: deque[Future] = deque()
        self._numbers = itertools.count(1)
        channel.at_cell_end.append(self._begin_anew)

    async def call(self, fields: dict[str, Any]) -> Any:
        """One request and its answer: a record, or the error that the broker names."""
        if self._free > 0:
            self._free -= 1
        else:
            await self._queue_up()
        try:
            number = f"r{next(self._numbers)}"
            answer = self._channel.request(number, self._give_slot, fields)
        except _UNSENDABLE as error:
            self._give_slot()  # nothing was sent, so nothing will be answered
            problem = {"path": "$", "expected": "json-like data", "got": str(error)}
            raise _invalid(fields["capability"], [problem]) from None
        except BaseException:
            self._give_slot()
            raise
        return _unwrap(await answer)

    async def _queue_up(self) -> None:
        turn = self._channel.loop.future()
        self._queue.append(turn)
        try:
            await turn
        except BaseException:
            # Cancelled while queueing: pass on a slot that was already handed over.
            if turn.done() and not turn.cancelled():
                self._give_slot()
            raise

    def _begin_anew(self) -> None:
        """A new cell: the host counts from nothing, and whoever held a slot is abandoned."""
        self._queue.clear()
        self._free = self._concurrency

    def _give_slot(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn._finish(None, None)
                return
        self._free += 1


def _unwrap(response: CapabilityResponseMessage) -> Any:
    failure = response.failure
    if failure is None:
        return record_of(response.result)
    error = CALL_ERRORS.get(failure.code)
    if error is None:
        raise ProtocolError(f"an unknown failure `{failure.code}`", violation="malformed")
    raise error(failure.message, **failure.details)


class Capability:
    # One wrapper: `await caps.files.read(path="notes.txt")`. Its docstring is the capability's own,
    # so the class has none.
    __slots__ = ("__doc__", "_caller", "_entry", "_options", "_schema", "_shape")

    def __init__(
        self, caller: Caller, entry: ManifestEntry, options: dict[str, Any] | None = None
    ) -> None:
        self._caller = caller
        self._entry = entry
        self._options = options or {}
        # Made when it is called: most are not.
        self._schema: dict[str, Any] = {}
        self._shape: Shape | None = None
        self.__doc__ = entry.description or entry.title

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        entry, shape = self._entry, self._shape
        if shape is None:
            self._schema = entry.schema()
            shape = self._shape = Shape(self._schema)
        try:
            payload = bind(self._schema, args, kwargs) if args else kwargs
        except TypeError as error:
            raise TypeError(f"caps.{entry.name}: {error}") from None
        if not shape.fits(payload):
            problems = problems_in(closed(self._schema), payload, self._schema)
            if problems:
                raise _invalid(entry.name, problems)
        fields = {"capability": entry.name, "payload": payload, **self._options}
        return await self._caller.call(fields)

    def options(
        self, *, timeout_ms: int | None = None, idempotency_key: str | None = None
    ) -> Capability:
        """The same capability with a deadline, or with a key that makes repeats harmless."""
        chosen = {"timeout_ms": timeout_ms, "idempotency_key": idempotency_key}
        problems = problems_in(OPTIONS_SCHEMA, chosen, OPTIONS_SCHEMA, "options")
        if problems:
            raise _invalid(self._entry.name, problems)
        given = {name: value for name, value in chosen.items() if value is not None}
        same = Capability(self._caller, self._entry, {**self._options, **given})
        same._schema, same._shape = self._schema, self._shape
        return same

    def __repr__(self) -> str:
        names = ", ".join(self._entry.schema().get("properties", ()))
        return f"<capability caps.{self._entry.name}({names})>"


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a payload; an empty one takes no arguments."""
    return schema or {"type": "object", "additionalProperties": False}


def _invalid(name: str, problems: list[dict[str, str]]) -> ValidationError:
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return ValidationError(
        f"`{name}`: {first['path']}: expected {first['expected']}, got {first['got']}{more}",
        capability=name,
        problems=problems,
    )


class Domain:
    """`caps.files`: the granted capabilities of one domain."""

    __slots__ = ("_caller", "_entries", "_made", "_name", "_policy_id")

    def __init__(
        self, name: str, policy_id: str, caller: Caller, entries: dict[str, ManifestEntry]
    ) -> None:
        self._name = name
        self._policy_id = policy_id
        self._caller = caller
        self._entries = entries
        self._made: dict[str, Capability] = {}

    def __getattr__(self, function: str) -> Capability:
        # Wrappers are plain attributes of the mapping, not of the instance: nothing can be set.
        if function.startswith("_"):
            raise AttributeError(function)
        found = self._made.get(function)
        if found is None:
            entry = self._entries.get(function)
            if entry is None:
                raise missing(f"{self._name}.{function}", self._policy_id, function, self._listed())
            found = self._made[function] = Capability(self._caller, entry)
        return found

    def _listed(self) -> dict[str, str]:
        return {function: f"{self._name}.{function}" for function in self._entries}

    def __dir__(self) -> list[str]:
        return sorted(self._entries)

    def __repr__(self) -> str:
        return f"<caps.{self._name}: {', '.join(sorted(self._entries))}>"


class Namespace:
    """`caps`: the granted domains, and the errors that a call may raise."""

    __slots__ = ("_domains", "_policy_id")

    def __init__(self, policy_id: str, domains: dict[str, Domain]) -> None:
        self._policy_id = policy_id
        self._domains = domains

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)  # a copy in the making has no `_domains` yet
        found = self._domains.get(name) or _ERRORS.get(name)
        if found is None:
            raise missing(name, self._policy_id, name, {known: known for known in self._domains})
        return found

    def __dir__(self) -> list[str]:
        return sorted([*self._domains, *_ERRORS])

    def __repr__(self) -> str:
        return f"<caps: {', '.join(sorted(self._domains)) or 'nothing granted'}>"


def missing(full: str, policy_id: str, name: str, listed: dict[str, str]) -> CapabilityMissingError:
    """The error of touching `full`; `listed` maps what could be meant by `name` to full names."""
    near = difflib.get_close_matches(name, listed, n=1, cutoff=0.6)
    if near:
        hint = f"; did you mean `{listed[near[0]]}`?"
    else:
        hint = f"; granted: {', '.join(sorted(listed.values())) or 'nothing'}"
    return CapabilityMissingError(
        f"`{full}` is not granted by policy `{policy_id}`{hint}",
        capability=full,
        reason="not_granted",
        policy_id=policy_id,
    )


def build_namespace(manifest: ManifestMessage, channel: Channel, concurrency: int) -> Namespace:
    """`caps` for one execution. A wrapper is made when it is first touched: many may be granted,
    and few are used."""
    caller = Caller(channel, concurrency)
    by_domain: dict[str, dict[str, ManifestEntry]] = {}
    for entry in manifest.capabilities:
        domain, _, function = entry.name.partition(".")
        by_domain.setdefault(domain, {})[function] = entry
    return Namespace(
        manifest.policy_id,
        {
            name: Domain(name, manifest.policy_id, caller, entries)
            for name, entries in by_domain.items()
        },
    )
