"""The bridge of one MCP server: the official SDK, in a process that may hang, crash or fill up.

    python -I -m caps.mcp.child.bridge <channel> [<read> <write>]

`channel` is a socket to the host with frames of `bridge_messages`; the other two descriptors are
the server's output and input. Without them the server is reached over HTTP. Before a byte of the
server is read, the bridge bounds its own memory and gives up the file system but for its own
libraries, and on descriptors the network, too.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
import msgspec
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from caps.mcp.bridge_messages import (
    LIMITS,
    MAX_TOOLS,
    CallTool,
    CancelCall,
    Failure,
    FromBridge,
    ListTools,
    OpenServer,
    Progress,
    ServerOpened,
    ToBridge,
    ToolList,
    ToolsChanged,
)
from caps.mcp.child.results import ANSWER, answer_of, listed_tool, short
from caps.mcp.child.stdio import stdio_streams
from caps.protocol.errors import ProtocolError
from caps.protocol.framing import FrameReader, check_shape, frame, pack
from caps.protocol.version import package_version
from caps.worker.inside.confinement import linux
from caps.worker.inside.confinement.paths import SYSTEM, confine_to_paths, existing

_MEMORY_BYTES: Final = 1024 * 1024 * 1024
_DESCRIPTORS: Final = 64
_MAX_PAGES: Final = 64
_PROGRESS_SECONDS: Final = 0.05
# What the resolver and TLS of an HTTP client read.
_NETWORK_FILES: Final = ("/etc", "/run/systemd/resolve")


class Bridge:
    """One connection, from the host's first message until either side ends it."""

    def __init__(
        self, channel: socket.socket, stdio: tuple[int, int] | None, confined: str
    ) -> None:
        channel.setblocking(False)
        self._channel = channel
        self._stdio = stdio
        self._confined = confined
        self._frames = FrameReader(LIMITS)
        self._decoder = msgspec.msgpack.Decoder(ToBridge)
        self._writing = anyio.Lock()
        self._ended, self._reason = anyio.Event(), ""
        self._calls: dict[int, anyio.CancelScope] = {}

    async def run(self) -> None:
        """Serve the host until it closes the channel. What fails is reported, and ends it."""
        async for message in self._incoming():
            if isinstance(message, OpenServer):
                break
        else:
            return
        reason: str | None = None
        try:
            await self._serve(message)
        except Exception as error:  # noqa: BLE001 - of the server, or the SDK: the host is told
            reason = _reason(error)
        if self._ended.is_set():
            reason = self._reason
        if reason is not None:
            await self._send(Failure(id=None, message=reason))

    async def _serve(self, opening: OpenServer) -> None:
        client = Client(
            self._transport(opening),
            mode="legacy" if opening.legacy else "auto",
            cache=None,
            client_info=mcp_types.Implementation(name="caps", version=package_version()),
            message_handler=self._notified,
        )
        async with client:
            info, session = client.session.server_info, client.session
            opened = ServerOpened(
                name=short(info.name if info else ""),
                version=short(info.version if info else ""),
                protocol=short(session.protocol_version or ""),
                confined=short(self._confined),
            )
            await self._send(opened)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._stop_at_end, tasks.cancel_scope)
                async for message in self._incoming():
                    self._start(message, session, tasks)
                tasks.cancel_scope.cancel()

    async def _stop_at_end(self, scope: anyio.CancelScope) -> None:
        await self._ended.wait()
        scope.cancel()

    def _start(self, message: ToBridge, session: Any, tasks: Any) -> None:
        match message:
            case ListTools():
                tasks.start_soon(self._answered, message.id, self._list, session)
            case CallTool():
                tasks.start_soon(self._answered, message.id, self._call, session, message)
            case CancelCall() if message.id in self._calls:
                self._calls[message.id].cancel()

    async def _answered(self, number: int, work: Any, *arguments: Any) -> None:
        """Do `work` and send what it returns, or why it failed: each request gets one answer."""
        with anyio.CancelScope() as scope:
            self._calls[number] = scope
            try:
                answer: FromBridge = await work(number, *arguments)
            except Exception as error:  # noqa: BLE001 - of the server, or the SDK: the host is told
                answer = Failure(id=number, message=_reason(error))
        del self._calls[number]
        if scope.cancelled_caught:
            answer = Failure(id=number, message="the call was cancelled")
        await self._send(answer)

    async def _list(self, number: int, session: Any) -> FromBridge:
        tools: list[Any] = []
        params, seen = None, set[str]()
        for _ in range(_MAX_PAGES):
            page = await session.list_tools(params=params)
            tools += [listed_tool(each) for each in page.tools]
            if len(tools) > MAX_TOOLS:
                return Failure(id=number, message=f"there are more than {MAX_TOOLS} tools")
            cursor = page.next_cursor
            if cursor is None:
                return ToolList(id=number, tools=tools)
            if cursor in seen:
                return Failure(id=number, message="the pages of the list of tools are a loop")
            seen.add(cursor)
            params = mcp_types.PaginatedRequestParams(cursor=cursor)
        return Failure(id=number, message=f"the list of tools has more than {_MAX_PAGES} pages")

    async def _call(self, number: int, session: Any, message: CallTool) -> FromBridge:
        last = 0.0

        async def on_progress(progress: float, total: float | None, text: str | None) -> None:
            nonlocal last
            now = anyio.current_time()
            if now - last >= _PROGRESS_SECONDS:
                last = now
                shown = short(text or "", 1024)
                report = Progress(id=number, progress=progress, total=total, message=shown)
                await self._send(report)

        request = mcp_types.CallToolRequest(
            params=mcp_types.CallToolRequestParams(name=message.tool, arguments=message.arguments)
        )
        # Not `call_tool`: it would check the result with the server's own regular expressions.
        result = await session.send_request(request, ANSWER, progress_callback=on_progress)
        return answer_of(number, result)

    def _transport(self, opening: OpenServer) -> AbstractAsyncContextManager[Any]:
        if self._stdio is not None:
            return stdio_streams(*self._stdio, self._end)
        from caps.mcp.child.http import http_streams

        return http_streams(opening.url or "", opening.headers, self._end)

    def _end(self, reason: str) -> None:
        self._reason = reason
        self._ended.set()

    async def _notified(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            await self._send(ToolsChanged())

    async def _incoming(self) -> AsyncIterator[ToBridge]:
        while True:
            await anyio.wait_readable(self._channel)
            data = self._channel.recv(65536)
            if not data:
                return
            for body in self._frames.feed(data):
                yield self._decoder.decode(body)

    async def _send(self, message: FromBridge) -> None:
        try:
            body = pack(message)
            check_shape(body, limits=LIMITS)
            data = frame(body, LIMITS)
        except (
            ProtocolError,
            MemoryError,
            OverflowError,
            TypeError,
            ValueError,
            RecursionError,
        ):
            number = getattr(message, "id", None)
            reason = "what the server sent is too large, or is not JSON-like"
            data = frame(msgspec.msgpack.encode(Failure(id=number, message=reason)), LIMITS)
        rest = memoryview(data)
        async with self._writing:
            while rest:
                try:
                    rest = rest[self._channel.send(rest) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._channel)


def _reason(error: BaseException) -> str:
    """What the host may show: the server's own words, or the kind of the error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return short(str(error.error.message) or "the server answered with an error")
    if isinstance(error, ValidationError):
        return "the server's answer does not fit the protocol"
    if isinstance(error, RuntimeError | ValueError | OSError):
        return short(str(error) or type(error).__name__)
    return type(error).__name__


def _confine(*, network: bool) -> str:
    """Bound memory, and give up files and network; empty, or what was not possible."""
    for kind, limit in (
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        lowered = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (lowered, lowered))
    own = [sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])]
    libraries = [*own, *sysconfig.get_paths().values(), *(_NETWORK_FILES if network else ())]
    try:
        confine_to_paths(existing({*SYSTEM, *libraries}), (), network=network)
    except OSError as error:
        return str(error.strerror)
    return ""


def main() -> None:
    logging.disable(logging.CRITICAL)  # the server could fill any log with its words
    linux.die_with_parent(signal.SIGKILL)
    linux.set_dumpable(False)
    os.setpriority(os.PRIO_PROCESS, 0, 5)
    channel, *stdio = (int(each) for each in sys.argv[1:])
    descriptors = (stdio[0], stdio[1]) if stdio else None
    confined = _confine(network=descriptors is None)
    anyio.run(Bridge(socket.socket(fileno=channel), descriptors, confined).run)


if __name__ == "__main__":
    main()
