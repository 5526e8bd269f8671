"""Starting the processes of a server: its keeper with the server in it, and its bridge.

    host ── lifeline ── keeper ── server            host ── channel ── bridge (the SDK)
                                    └──── pipes ─────────────────────────┘

The host holds the lifeline and the channel; the pipes run from the server to the bridge, so not a
byte of the server's output passes through the host unframed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec

from caps.mcp.client.config import McpServer
from caps.protocol.errors import ProviderError
from caps.protocol.text import printable
from caps.protocol.transport import SocketTransport

_KEEPER: Final = (sys.executable, "-I", "-m", "caps.mcp.child.keeper")
_BRIDGE: Final = (sys.executable, "-I", "-m", "caps.mcp.child.bridge")
_END_SECONDS: Final = 8.0


class ServerProcesses(msgspec.Struct, eq=False):
    """The processes of one server, and the host's ends of its sockets."""

    channel: SocketTransport
    bridge: subprocess.Popen[bytes]
    keeper: subprocess.Popen[bytes] | None = None
    lifeline: socket.socket | None = None
    server_pid: int | None = None

    async def end(self) -> None:
        """Kill the bridge, the server and all of its descendants, and wait for them."""
        self.channel.close()
        self.bridge.kill()
        if self.lifeline is not None:
            anyio.notify_closing(self.lifeline)
            self.lifeline.close()
        with anyio.CancelScope(shield=True):
            await _ended(self.bridge)
            if self.keeper is not None and (
                not await _ended(self.keeper) or self.keeper.returncode != 0
            ):  # it hangs, or the server killed it
                self._kill_keeper(self.keeper)
                await _ended(self.keeper)

    def _kill_keeper(self, keeper: subprocess.Popen[bytes]) -> None:
        """It did not manage to kill everything: at least its own groups end."""
        for group in (self.server_pid, keeper.pid):
            if group is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)

    async def started(self) -> None:
        """Wait until the server's program runs. Raises ProviderError if it cannot be started."""
        if self.lifeline is None:
            return
        said = await self._said(self.lifeline)
        error = said.get("error")
        if isinstance(error, str):
            raise ProviderError(f"its command cannot be started: {printable(error.lower(), 300)}")
        self.server_pid = said.get("pid")

    async def _said(self, lifeline: socket.socket) -> dict[str, Any]:
        """The first line of the keeper, which is our own program."""
        data = b""
        while b"\n" not in data:
            await anyio.wait_readable(lifeline)
            received = lifeline.recv(8192)
            if not received:
                raise ProviderError("its keeper ended before it started the command")
            data += received
        said: dict[str, Any] = json.loads(data.partition(b"\n")[0])
        return said


async def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it ends within the time that it has. It is reaped then."""
    if process.poll() is None:
        try:
            pidfd = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return process.poll() is not None
        try:
            with anyio.move_on_after(_END_SECONDS):
                await anyio.wait_readable(pidfd)
        finally:
            os.close(pidfd)
    return process.poll() is not None


def launch(server: McpServer, environment: dict[str, str]) -> ServerProcesses:
    """Start the processes. Raises ProviderError.

    The kernel kills the bridge when the calling thread ends, so this is the event loop's thread.
    """
    if importlib.util.find_spec("mcp") is None:
        raise ProviderError("it needs the extra `mcp`; install `caps-runtime[mcp]`")
    try:
        with ExitStack() as undo:
            return _launch(server, environment, undo)
    except OSError as error:
        reason = (error.strerror or "it failed").lower()
        raise ProviderError(f"its processes cannot be started: {reason}") from None


def _launch(server: McpServer, environment: dict[str, str], undo: ExitStack) -> ServerProcesses:
    config = server.config
    channel, theirs = SocketTransport.pair()
    undo.callback(channel.close)
    with theirs, ExitStack() as passed:
        if config.command is None:
            bridge = _start_bridge(theirs, ())
            undo.pop_all()
            return ServerProcesses(channel, bridge)
        spec = {
            "command": _found(config.command),
            "args": config.args,
            "env": environment,
            "cwd": config.cwd,
            "memory_mb": config.memory_mb,
            "confine": None if config.confine is None else config.confine.model_dump(),
        }
        to_server, from_server = os.pipe(), os.pipe()
        for descriptor in (*to_server, *from_server):
            passed.callback(os.close, descriptor)
        keeper, lifeline = _start_keeper(to_server[0], from_server[1], spec)
        undo.callback(lifeline.close)  # ends the keeper, and the server with it
        bridge = _start_bridge(theirs, (from_server[0], to_server[1]))
        undo.pop_all()
    return ServerProcesses(channel, bridge, keeper, lifeline)


def _found(command: str) -> str:
    """The program of a command, by the host's own search path."""
    path = shutil.which(command)
    if path is None:
        raise ProviderError(f"its command `{printable(command, 200)}` is not found")
    return str(Path(path).absolute())  # the server starts in another directory


def _start_keeper(
    stdin: int, stdout: int, spec: dict[str, Any]
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        keeper = _popen((*_KEEPER, str(theirs.fileno())), stdin, stdout, (theirs.fileno(),))
    ours.settimeout(5)  # its spec may be larger than the socket's buffer
    try:
        ours.sendall(json.dumps(spec).encode() + b"\n")
    except OSError:
        ours.close()
        raise
    ours.setblocking(False)
    return keeper, ours


def _start_bridge(channel: socket.socket, stdio: tuple[int, ...]) -> subprocess.Popen[bytes]:
    passed = (channel.fileno(), *stdio)
    command = (*_BRIDGE, *(str(each) for each in passed))
    return _popen(command, subprocess.DEVNULL, subprocess.DEVNULL, passed)


def _popen(
    command: tuple[str, ...], stdin: int, stdout: int, passed: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command,
        stdin=stdin,
        stdout=stdout,
        # What a server writes there could fill any log, and may hold its secrets.
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        pass_fds=passed,
        start_new_session=True,
    )
