"""Targets on the host that an escaped worker could reach, so that an attack can succeed.

Files that the worker's user may change, sockets that answer, shared memory, a process of the same
user. If an attack fails although its target exists, a layer has stopped it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

# The user that a worker runs as: see `caps.worker.inside.confinement.layers`.
USER = os.geteuid() or 65534

_IPC_CREAT, _IPC_RMID = 0o1000, 0
_NICE = 7
_SECRET = "the host's own"

# A process of the worker's user that permits tracing, also where only descendants may be traced.
_BYSTANDER = """
import ctypes, os, sys
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(*[int(sys.argv[1])] * 3)
    os.setresuid(*[int(sys.argv[1])] * 3)
os.nice(int(sys.argv[2]))
libc = ctypes.CDLL(None)
libc.prctl(4, 1, 0, 0, 0)
libc.prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
secret = ctypes.create_string_buffer(sys.argv[3].encode())
print(ctypes.addressof(secret), flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True, slots=True)
class EscapeTargets:
    """The facts about the host that attacks are given, and the directory that they may damage."""

    directory: Path
    facts: dict[str, object]

    def reset(self) -> None:
        """Restore the directory to its state before any attack."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(mode=0o755)
        file = self.directory / "file"
        file.write_text(_SECRET)
        for path in (self.directory, file):
            os.chown(path, USER, USER if os.geteuid() == 0 else -1)


@contextmanager
def escape_targets() -> Iterator[EscapeTargets]:
    """Create all targets; remove them on exit."""
    with ExitStack() as undo:
        # Not pytest's own directory, which other users cannot enter.
        place = undo.enter_context(tempfile.TemporaryDirectory(prefix="caps-", dir="/tmp"))
        Path(place).chmod(0o755)
        pid, address = undo.enter_context(_bystander())
        host = EscapeTargets(
            Path(place) / "here",
            {
                "directory": f"{place}/here",
                "file": f"{place}/here/file",
                "secret": _SECRET,
                "port": undo.enter_context(_listening(socket.AF_INET)).getsockname()[1],
                "datagrams": undo.enter_context(_datagrams()).getsockname()[1],
                "socket": undo.enter_context(_listening_at(f"{place}/socket")),
                "abstract": undo.enter_context(_listening_at(f"\0{place}")),
                "segment": undo.enter_context(_segment()),
                "process": pid,
                "address": address,
                # Not `_NICE`: the tests themselves may run with a lower priority.
                "nice": os.getpriority(os.PRIO_PROCESS, pid),
            },
        )
        host.reset()
        yield host


@contextmanager
def _bystander() -> Iterator[tuple[int, int]]:
    command = (sys.executable, "-I", "-c", _BYSTANDER, str(USER), str(_NICE), _SECRET)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.communicate()


@contextmanager
def _listening(family: socket.AddressFamily) -> Iterator[socket.socket]:
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1024)
        yield server


@contextmanager
def _datagrams() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        yield server


@contextmanager
def _listening_at(name: str) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(name)
        if not name.startswith("\0"):
            Path(name).chmod(0o777)
        server.listen(1024)
        yield name


@contextmanager
def _segment() -> Iterator[int]:
    """Shared memory under a key of this process, open to every user."""
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x43000000 | os.getpid()
    segment = libc.shmget(key, 4096, _IPC_CREAT | 0o666)
    assert segment >= 0, os.strerror(ctypes.get_errno())
    try:
        yield key
    finally:
        libc.shmctl(segment, _IPC_RMID, None)
