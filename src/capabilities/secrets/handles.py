"""The table of handles: which caller may have which secret sent to which hosts.

A handle is random text without a meaning. It belongs to the session that asked for it, or without a
session to the execution, and is worthless to any other: `filled` looks only at the handles of its
caller. It counts as long as the grant of the call that uses it would give it, too: in a session the
next execution may have other policies, and a grant can be revoked. A caller has one handle for each
name. The handles of an execution end with it, because no later one has its id; those that are not
used any more leave when the table is full.

The table has no values that nobody asked for: `read` gets one when a handle is given or filled in.
The values that were read for a caller are kept with its handles, so that they can be masked.
"""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from caps.capabilities.provider import CallContext, ScopeViolationError
from caps.capabilities.secrets.masking import Masker
from caps.protocol.errors import ProviderError
from caps.security.hosts import is_covered

MAX_CALLERS: Final = 8192
MAX_CALLERS_OF_PRINCIPAL: Final = 1024
MAX_HANDLES_OF_CALLER: Final = 64
_KEPT_VALUES: Final = 4

GIVEN_BY: Final = "secrets.handle"
"""The function that gives handles. Its scope is also asked about a `host`."""
_HANDLE: Final = re.compile(r"caps-secret-[0-9a-f]{32}")

ReadSecret = Callable[[CallContext, str], Awaitable[str]]
Caller = tuple[str, str, str]


class SecretHandle(msgspec.Struct):
    """One secret of one caller."""

    token: str
    name: str
    hosts: tuple[tuple[str, ...], ...]
    """The host patterns of each policy: all of them must name the host."""
    read: ReadSecret
    values: tuple[str, ...] = ()
    """The values read most recently, to mask: one may be replaced while its caller runs."""

    async def value(self, context: CallContext) -> str:
        """The value now. ProviderError if it is gone."""
        value = await self.read(context, self.name)
        if value not in self.values:
            self.values = (*self.values, value)[-_KEPT_VALUES:]
        return value


class HandleTable:
    """The handles of one runtime. Used in its event loop only."""

    def __init__(self) -> None:
        # Callers in the order of their last use, each with its handles by name.
        self._callers = OrderedDict[Caller, dict[str, SecretHandle]]()

    async def issue(
        self,
        context: CallContext,
        name: str,
        hosts: Sequence[tuple[str, ...]],
        read: ReadSecret,
    ) -> str:
        """The handle of the secret `name` for the caller, for hosts that all of `hosts` name.

        Raises ProviderError if the secret cannot be read, and for too many handles.
        """
        given = SecretHandle(f"caps-secret-{secrets.token_hex(16)}", name, tuple(hosts), read)
        await given.value(context)
        held = self._of(context)
        known = held.get(name)
        if known is not None and known.hosts == given.hosts:
            return known.token
        if known is None and len(held) >= MAX_HANDLES_OF_CALLER:
            raise ProviderError(f"one execution can have {MAX_HANDLES_OF_CALLER} secrets")
        if known is not None:  # another policy: what was given before has other hosts
            given.values = (*known.values, *given.values)[-_KEPT_VALUES:]
        held[name] = given
        return given.token

    async def filled(self, context: CallContext, text: str, host: str) -> str:
        """`text` with the values in the place of the caller's handles, for a request to `host`.

        Raises ScopeViolationError for a handle of somebody else or for another host.
        """
        values: dict[str, str] = {}
        for token in set(_HANDLE.findall(text)):
            values[token] = await self._handle(context, token, host).value(context)
        return _HANDLE.sub(lambda found: values[found[0]], text)

    def may_fill(self, context: CallContext, text: str, host: str) -> bool:
        """Whether all handles in `text` can be filled in for `host`."""
        try:
            for token in _HANDLE.findall(text):
                self._handle(context, token, host)
        except ScopeViolationError:
            return False
        return True

    def masker(self, context: CallContext) -> Masker:
        """Masks every value that was read for the caller."""
        held = self._callers.get(caller_of(context), {})
        return Masker(value for handle in held.values() for value in handle.values)

    def _handle(self, context: CallContext, token: str, host: str) -> SecretHandle:
        caller = caller_of(context)
        held = self._callers.get(caller, {})
        for handle in held.values():
            if secrets.compare_digest(handle.token, token):
                self._callers.move_to_end(caller)
                given = all(is_covered(host, patterns) for patterns in handle.hosts)
                if given and context.allows(GIVEN_BY, {"name": handle.name, "host": host}):
                    return handle
                raise ScopeViolationError(
                    "headers", f"the secret `{handle.name}` may not be sent to `{host}`"
                )
        raise ScopeViolationError(
            "headers", "a handle is not of this execution; ask `secrets.handle` for one"
        )

    def _of(self, context: CallContext) -> dict[str, SecretHandle]:
        """The handles of the caller, which is now the last one used."""
        caller = caller_of(context)
        if caller not in self._callers:
            own = [each for each in self._callers if each[0] == context.principal]
            if len(own) >= MAX_CALLERS_OF_PRINCIPAL:
                del self._callers[own[0]]
            elif len(self._callers) >= MAX_CALLERS:
                self._callers.popitem(last=False)
            self._callers[caller] = {}
        self._callers.move_to_end(caller)
        return self._callers[caller]


def caller_of(context: CallContext) -> Caller:
    """Whose handles a call may use: its session's, or without one its execution's."""
    if context.session is not None:
        return context.principal, "session", context.session
    return context.principal, "execution", context.execution_id


def has_handle(text: str) -> bool:
    """Whether `text` has something that looks like a handle."""
    return _HANDLE.search(text) is not None


@asynccontextmanager
async def open_handles() -> AsyncIterator[HandleTable]:
    """The table of a runtime, for `context.resource`."""
    yield HandleTable()
