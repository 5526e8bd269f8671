"""One connection to a server through its bridge: requests, answers, progress, cancellation.

What the bridge sends is untrusted. A frame that does not fit ends the connection, an answer to a
request that nobody made is an error, and a bridge that does not confirm a cancellation in time is
taken to hang. Ending a connection ends its processes.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup

from caps.mcp.bridge_messages import (
    LIMITS,
    Answer,
    CallTool,
    CancelCall,
    Failure,
    FromBridge,
    ListedTool,
    ListTools,
    OpenServer,
    Progress,
    ServerOpened,
    ToBridge,
    ToolList,
    ToolsChanged,
)
from caps.mcp.client.config import McpServer
from caps.mcp.client.launching import ServerProcesses, launch
from caps.protocol.errors import ProtocolError, ProviderError
from caps.protocol.framing import FrameReader, check_json_like, check_shape, frame
from caps.protocol.text import printable
from caps.protocol.transport import ChannelClosedError

OnProgress = Callable[[Progress], None]

MAX_IN_FLIGHT: Final = 64
_CONFIRM_SECONDS: Final = 5.0
# A larger frame is decoded in a thread, so that the event loop stays free.
_LARGE_BYTES: Final = 64 * 1024
_GONE: Final = "its connection was closed"

logger = logging.getLogger(__name__)


class _Request(msgspec.Struct, eq=False):
    on_progress: OnProgress | None = None
    settled: anyio.Event = msgspec.field(default_factory=anyio.Event)
    answer: ToolList | Answer | Failure | None = None


class Connection:
    """An open connection. Made by `connect`, which also runs its reader in `tasks`."""

    def __init__(self, server: McpServer, processes: ServerProcesses, tasks: TaskGroup) -> None:
        self.server = server
        self.opened: ServerOpened | None = None
        self.is_stale = False
        """The server says that its tools have changed."""
        self.over = anyio.Event()
        self.reason = _GONE
        self.processes = processes
        self._tasks = tasks
        self._numbers = itertools.count(1)
        self._requests: dict[int, _Request] = {}
        self._frames = FrameReader(LIMITS)
        self._decoder = msgspec.msgpack.Decoder(FromBridge)
        self._settled = anyio.Event()

    @property
    def is_over(self) -> bool:
        return self.over.is_set()

    @property
    def is_busy(self) -> bool:
        return bool(self._requests)

    async def open(self, opening: OpenServer) -> None:
        """Wait until the server is connected. Raises ProviderError."""
        await self.processes.started()
        self._tasks.start_soon(self._read)
        await self._send(opening)
        await self._settled.wait()
        if self.opened is None:
            raise ProviderError(self.reason)

    async def list_tools(self) -> list[ListedTool]:
        """The tools that the server offers now. Raises ProviderError."""
        self.is_stale = False
        answer = await self._request(lambda number: ListTools(id=number), _Request())
        if not isinstance(answer, ToolList):
            raise self._out_of_order()
        await anyio.to_thread.run_sync(_check_tools, answer.tools, abandon_on_cancel=True)
        return answer.tools

    async def call(
        self, tool: str, arguments: dict[str, Any], on_progress: OnProgress | None
    ) -> Answer:
        """The answer of a tool. Cancelling cancels it at the server. Raises ProviderError."""

        def message(number: int) -> ToBridge:
            return CallTool(id=number, tool=tool, arguments=arguments)

        answer = await self._request(message, _Request(on_progress))
        if not isinstance(answer, Answer):
            raise self._out_of_order()
        _check_json(answer.structured)
        return answer

    async def _request(
        self, message: Callable[[int], ToBridge], request: _Request
    ) -> ToolList | Answer:
        if self.is_over:
            raise ProviderError(self.reason)
        if len(self._requests) >= MAX_IN_FLIGHT:
            raise ProviderError(f"it has {MAX_IN_FLIGHT} calls in flight already")
        number = next(self._numbers)
        self._requests[number] = request
        try:
            await self._send(message(number))
            await request.settled.wait()
        except anyio.get_cancelled_exc_class():
            if not request.settled.is_set() and not self.is_over:
                self._tasks.start_soon(self._cancel, number, request)
            raise
        answer = request.answer
        if answer is None:
            raise ProviderError(self.reason)
        if isinstance(answer, Failure):
            raise ProviderError(printable(answer.message, 2000))
        return answer

    async def _cancel(self, number: int, request: _Request) -> None:
        """Cancel a request. A bridge that does not confirm it is ended."""
        with anyio.move_on_after(_CONFIRM_SECONDS):
            await self._send(CancelCall(id=number), fails=False)
            await request.settled.wait()
        if not request.settled.is_set():
            await self.end("it did not confirm that a call was cancelled")

    async def _send(self, message: ToBridge, *, fails: bool = True) -> None:
        try:
            data = frame(msgspec.msgpack.encode(message), LIMITS)
        except (ProtocolError, OverflowError) as error:
            raise ProviderError(f"the arguments cannot be sent: {error}") from None
        try:
            await self.processes.channel.send(data)
        except ChannelClosedError:
            if fails:
                raise ProviderError(self.reason) from None

    async def _read(self) -> None:
        reason = "its bridge ended"
        try:
            while data := await self.processes.channel.receive():
                for body in self._frames.feed(data):
                    self._handle(await self._decoded(body))
        except ChannelClosedError:
            reason = _GONE
        except (ProtocolError, msgspec.DecodeError, RecursionError) as error:
            reason = f"its bridge broke the protocol: {printable(str(error), 200)}"
        finally:
            await self.end(reason)

    async def _decoded(self, body: bytes) -> FromBridge:
        if len(body) <= _LARGE_BYTES:
            return self._decode(body)
        return await anyio.to_thread.run_sync(self._decode, body, abandon_on_cancel=True)

    def _decode(self, body: bytes) -> FromBridge:
        check_shape(body, limits=LIMITS)
        message: FromBridge = self._decoder.decode(body)
        return message

    def _handle(self, message: FromBridge) -> None:
        match message:
            case ServerOpened():
                self.opened = message
                self._settled.set()
            case ToolsChanged():
                self.is_stale = True
            case Progress():
                request = self._requests.get(message.id)
                if request is not None and request.on_progress is not None:
                    _report(request.on_progress, message)
            case Failure(id=None):
                self.reason = printable(message.message, 2000)
                self._settled.set()
            case ToolList() | Answer() | Failure():
                request = self._requests.pop(message.id or 0, None)
                if request is None:
                    raise ProtocolError("an answer to no request", violation="forged_id")
                request.answer = message
                request.settled.set()

    def _out_of_order(self) -> ProviderError:
        return ProviderError("its bridge answered with another kind of message")

    async def end(self, reason: str) -> None:
        """End it and its processes; requests in flight fail with the first reason."""
        if self.over.is_set():
            return
        if self.reason == _GONE:
            self.reason = reason
        self.over.set()
        self._settled.set()
        for request in self._requests.values():
            request.settled.set()
        self._requests.clear()
        with anyio.CancelScope(shield=True):
            await self.processes.end()
        logger.info("the MCP server `%s` ended: %s", self.server.key, self.reason)


def _report(on_progress: OnProgress, message: Progress) -> None:
    try:
        on_progress(message)
    except Exception:
        logger.exception("whoever listens to the progress of a call failed")


def _check_tools(tools: list[ListedTool]) -> None:
    for tool in tools:
        _check_json(tool.input_schema, tool.output_schema, tool.annotations)


def _check_json(*values: Any) -> None:
    try:
        for value in values:
            check_json_like(value, LIMITS)
    except ProtocolError as error:
        raise ProviderError(f"what the server sent is refused: {error.message}") from None


async def connect(
    server: McpServer, opening: OpenServer, environment: dict[str, str], tasks: TaskGroup
) -> Connection:
    """Start the processes of a server and connect to it. Raises ProviderError."""
    connection = Connection(server, launch(server, environment), tasks)
    seconds = server.config.start_ms / 1000
    try:
        with anyio.fail_after(seconds):
            await connection.open(opening)
    except TimeoutError:
        await connection.end(f"it was not ready within {server.config.start_ms} ms")
        raise ProviderError(connection.reason) from None
    except BaseException:
        await connection.end("its start was given up")
        raise
    return connection
