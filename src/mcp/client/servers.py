"""The running servers of a runtime: started on first use, shared, restarted, stopped.

A server has a process for each agent and principal, or for each agent if it is shared so. What it
offers is compared with the pin before it gets a call. One that fails is started again by the next
call, not before a pause that doubles with each failure. A runtime that closes stops all of them.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup

from caps.capabilities.provider import CallContext
from caps.capabilities.runtime.isolation import isolation_mode
from caps.capabilities.secrets.masking import Masker
from caps.mcp.bridge_messages import ListedTool, OpenServer, Progress
from caps.mcp.client.config import McpServer
from caps.mcp.client.connection import Connection, OnProgress, connect
from caps.mcp.client.environment import read_environment
from caps.mcp.client.pins import Drift, Pin, digests_of, drift_of
from caps.mcp.client.values import value_of
from caps.protocol.errors import ProviderError

MAX_RUNNING: Final = 64
MAX_UNANSWERED: Final = 3
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 60.0

logger = logging.getLogger(__name__)


class _Slot(msgspec.Struct, eq=False):
    """One process of one server, whether it runs now or not."""

    server: McpServer
    pin: Pin
    opening: anyio.Lock = msgspec.field(default_factory=anyio.Lock)
    connection: Connection | None = None
    masker: Masker = msgspec.field(default_factory=lambda: Masker(()))
    calls: int = 0
    failures: int = 0
    not_before: float = 0.0
    unanswered: int = 0
    last_used: float = 0.0

    @property
    def is_running(self) -> bool:
        return self.connection is not None and not self.connection.is_over

    def failed(self) -> None:
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self.failures)
        self.failures += 1
        self.not_before = anyio.current_time() + pause


class Servers:
    """Of one runtime. Made by `open_servers`."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._slots: OrderedDict[tuple[str, ...], _Slot] = OrderedDict()

    async def call(
        self,
        context: CallContext,
        pin: Pin,
        server: McpServer,
        tool: str,
        arguments: Mapping[str, Any],
        on_progress: OnProgress | None,
    ) -> dict[str, Any]:
        """Call a tool for the caller of `context`. Raises ProviderError."""
        slot = await self._slot(context, server, pin)
        slot.calls += 1
        try:
            connection = await self._connected(slot)
            return await self._called(slot, connection, tool, dict(arguments), on_progress)
        except ProviderError as error:
            raise ProviderError(slot.masker.masked(error.message), server=server.key) from None
        finally:
            slot.calls -= 1
            slot.last_used = anyio.current_time()

    async def _called(
        self,
        slot: _Slot,
        connection: Connection,
        tool: str,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
    ) -> dict[str, Any]:
        answered = False
        try:
            answer = await connection.call(tool, arguments, _masked(on_progress, slot.masker))
            answered = True
        except ProviderError:
            # Over HTTP nothing else tells of a session that the server has forgotten.
            answered = not connection.is_over and slot.server.config.url is None
            raise
        finally:
            slot.unanswered = 0 if answered else slot.unanswered + 1
            if slot.unanswered >= MAX_UNANSWERED and not connection.is_over:
                self._tasks.start_soon(connection.end, "it did not answer several calls")
        slot.failures = 0
        return value_of(answer, slot.masker)

    async def _slot(self, context: CallContext, server: McpServer, pin: Pin) -> _Slot:
        shared = server.config.share == "agent" and context.agent is not None
        key = (server.key, context.agent or "", "" if shared else context.principal)
        slot = self._slots.get(key)
        if slot is None:
            await self._make_room()
            slot = self._slots.setdefault(key, _Slot(server, pin))
        self._slots.move_to_end(key)
        return slot

    async def _make_room(self) -> None:
        """Forget a slot that nobody uses: one that does not run, or the one used longest ago."""
        if len(self._slots) < MAX_RUNNING:
            return
        idle = [key for key, slot in self._slots.items() if not slot.calls]
        if not idle:
            raise ProviderError(f"{MAX_RUNNING} MCP servers are running already; try again later")
        gone = next((key for key in idle if not self._slots[key].is_running), idle[0])
        slot = self._slots.pop(gone)
        if slot.connection is not None:
            await slot.connection.end("another server needed its place")

    async def _connected(self, slot: _Slot) -> Connection:
        """The connection of a slot, whose tools are those that were accepted."""
        async with slot.opening:
            if not slot.is_running:
                self._check_pause(slot)
                try:
                    slot.connection = await self._opened(slot)
                except BaseException:
                    slot.failed()
                    raise
            connection = slot.connection
            assert connection is not None
            if connection.is_stale:
                await self._compare(slot, connection)
            return connection

    def _check_pause(self, slot: _Slot) -> None:
        seconds = slot.not_before - anyio.current_time()
        if slot.failures and seconds > 0:
            raise ProviderError(
                f"the MCP server `{slot.server.key}` failed {slot.failures} times; it is started "
                f"again in {seconds:.1f} seconds at the earliest"
            )

    async def _opened(self, slot: _Slot) -> Connection:
        server = slot.server
        try:
            environment = await anyio.to_thread.run_sync(read_environment, server)
            slot.masker = environment.masker
            opening = OpenServer(
                url=server.config.url,
                headers=environment.headers,
                legacy=server.config.protocol == "legacy",
            )
            connection = await connect(server, opening, environment.variables, self._tasks)
        except ProviderError as error:
            raise ProviderError(f"the MCP server `{server.key}`: {error.message}") from None
        await check_bridge(connection)
        await self._compare(slot, connection)
        slot.unanswered = 0
        self._tasks.start_soon(self._watch, slot, connection)
        return connection

    async def _compare(self, slot: _Slot, connection: Connection) -> None:
        """End a server that offers other tools than were accepted. Raises ProviderError."""
        key = slot.server.key
        try:
            offered = await listed_tools(connection)
            # Hashing a list of tools may take a while: not in the event loop.
            drift = await anyio.to_thread.run_sync(_drift, slot.pin, offered)
        except ProviderError as error:
            await connection.end("its tools could not be listed")
            raise ProviderError(f"the MCP server `{key}`: {error.message}") from None
        except BaseException:
            await connection.end("the list of its tools was given up")
            raise
        if drift:
            await connection.end("its tools have changed")
            raise ProviderError(
                f"the tools of the MCP server `{key}` have changed since they were accepted: "
                f"{drift}; see `caps mcp check {key}`"
            )

    async def _watch(self, slot: _Slot, connection: Connection) -> None:
        """Note the end of a server, and stop it when nobody has used it for a while."""
        idle = slot.server.config.idle_ms / 1000
        slot.last_used = anyio.current_time()
        while not connection.is_over:
            with anyio.move_on_at(slot.last_used + idle) as waiting:
                await connection.over.wait()
            if slot.calls:
                slot.last_used = anyio.current_time()
            elif waiting.cancelled_caught and anyio.current_time() >= slot.last_used + idle:
                await connection.end("nobody used it")
                return
        if slot.connection is connection:
            slot.failed()

    async def aclose(self) -> None:
        """Stop all of them, concurrently."""
        async with anyio.create_task_group() as ending:
            for slot in self._slots.values():
                if slot.connection is not None:
                    ending.start_soon(slot.connection.end, "the runtime closes")


def _masked(on_progress: OnProgress | None, masker: Masker) -> OnProgress | None:
    """The same without the secrets that the server was given."""
    if on_progress is None:
        return None

    def report(told: Progress) -> None:
        on_progress(msgspec.structs.replace(told, message=masker.masked(told.message)))

    return report


def _drift(pin: Pin, offered: list[ListedTool]) -> Drift:
    return drift_of(pin.digests, digests_of(offered))


async def listed_tools(connection: Connection) -> list[ListedTool]:
    """The tools of a connection, within the time of a start. Raises ProviderError."""
    try:
        with anyio.fail_after(connection.server.config.start_ms / 1000):
            return await connection.list_tools()
    except TimeoutError:
        raise ProviderError("it did not list its tools in time") from None


async def check_bridge(connection: Connection) -> None:
    """End a connection whose bridge is not confined, unless the operator allows that."""
    opened = connection.opened
    missing = "" if opened is None else opened.confined
    if missing and isolation_mode(None) == "full":
        await connection.end("its bridge is not confined")
        raise ProviderError(
            f"the bridge of the MCP server `{connection.server.key}` could not be confined: "
            f"{missing}; CAPS_ISOLATION=best-effort runs it anyway"
        )


@asynccontextmanager
async def open_servers() -> AsyncIterator[Servers]:
    """The servers of a runtime, for `context.resource`."""
    async with anyio.create_task_group() as tasks:
        servers = Servers(tasks)
        try:
            yield servers
        finally:
            with anyio.CancelScope(shield=True):
                await servers.aclose()
            tasks.cancel_scope.cancel()
