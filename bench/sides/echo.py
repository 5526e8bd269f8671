"""The lower bound of every call: some bytes to another process and back, over a socket pair.

Both ends block in `recv`; nothing is decoded, checked, decided or recorded.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.interleaving import Stopwatch, Turn

# The length of a request to add two small numbers on the wire; the answer is shorter.
MESSAGE_BYTES = 134
_TIMES = 200

_ECHO = """
import socket, sys
channel = socket.socket(fileno=int(sys.argv[1]))
while data := channel.recv(4096):
    channel.sendall(data)
"""


@asynccontextmanager
async def echoes() -> AsyncIterator[Turn]:
    """One round trip, as the mean of many consecutive ones."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-I", "-S", "-c", _ECHO, str(theirs.fileno())]
    # In its own process group: an interrupt from the terminal is for us, and the echo ends with its
    # channel.
    with (
        ours,
        subprocess.Popen(command, pass_fds=(theirs.fileno(),), process_group=0) as process,
    ):
        theirs.close()
        message = bytes(MESSAGE_BYTES)

        async def turn() -> float:
            with Stopwatch() as watch:
                for _ in range(_TIMES):
                    ours.sendall(message)
                    received = 0
                    while received < MESSAGE_BYTES:
                        received += len(ours.recv(4096))
            return watch.microseconds / _TIMES

        try:
            yield turn
        finally:
            ours.shutdown(socket.SHUT_RDWR)
            process.wait()
