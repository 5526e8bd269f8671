"""One worker process as the host holds it: its channel, its life, its end.

Runs on the host. The child gets an empty environment, `/` as its directory, its own session (so
that a Ctrl-C in a terminal reaches only the host) and its end of the channel as descriptor 0. Its
standard error is kept until it is ready, so that a failed start can say why.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import anyio

from caps.protocol.transport import SocketTransport

_DIAGNOSTIC_BYTES = 4096

WORKER_COMMAND = (sys.executable, "-I", "-m", "caps.worker.inside")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: its exit status or signal, and what it said on the way out."""

    exit_code: int | None
    signal: int | None
    diagnostics: str

    def __str__(self) -> str:
        if self.signal is not None:
            return f"killed by {_signal_name(self.signal)}"
        return f"exit status {self.exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"


class WorkerProcess:
    """A child process and the host's end of its channel."""

    def __init__(self, process: subprocess.Popen[bytes], transport: SocketTransport) -> None:
        self._process = process
        self._pidfd = os.pidfd_open(process.pid)
        self._ending: Ending | None = None
        self.transport = transport

    @classmethod
    def start(cls) -> WorkerProcess:
        """Start a worker; OSError if the system refuses (no process, no descriptor)."""
        transport, theirs = SocketTransport.pair()
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                WORKER_COMMAND,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                start_new_session=True,
            )
        except BaseException:
            transport.close()
            raise
        finally:
            theirs.close()
        try:
            return cls(process, transport)
        except OSError:
            process.kill()
            process.communicate()
            transport.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL, from outside; harmless when it is gone already."""
        if self._ending is None:
            try:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            except ProcessLookupError:
                return

    async def ended(self) -> Ending:
        """Wait for the end, reap the process and free what it held."""
        if self._ending is None:
            await anyio.wait_readable(self._pidfd)
            self._ending = self._reap()
        return self._ending

    def _reap(self) -> Ending:
        code = self._process.wait()
        assert self._process.stderr is not None
        with self._process.stderr as stderr:
            os.set_blocking(stderr.fileno(), False)
            said = stderr.read(_DIAGNOSTIC_BYTES) or b""
        os.close(self._pidfd)
        self.transport.close()
        return Ending(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            diagnostics=said.decode("utf-8", "replace").strip(),
        )
