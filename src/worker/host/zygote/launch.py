"""Starts a zygote: a clean interpreter with one socket. Needs no event loop, and imports little.

So a command can start the zygote first of all, and both get ready at the same time.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

ZYGOTE_COMMAND = (sys.executable, "-I", "-m", "caps.worker.inside")

_prelaunched: list[Launched | None] = []


class Launched:
    """A zygote that was started and has no reader yet. The caller that takes it has to end it."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.process = process
        self.control = control
        self._taken = False

    def take(self) -> Launched | None:
        """Itself the first time, then None."""
        found, self._taken = None if self._taken else self, True
        return found

    def dismiss(self) -> None:
        """Kill it, unless it was taken. It has no workers yet."""
        if self.take() is not None:
            self.control.close()
            self.process.kill()
            self.process.communicate()


def launch(arguments: tuple[str, ...] = ()) -> Launched:
    """Start a zygote. Raises OSError.

    The kernel kills it when the calling thread ends, so this is the thread of the event loop.
    """
    with ExitStack() as undo:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        undo.enter_context(ours)
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                (*ZYGOTE_COMMAND, *arguments),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                start_new_session=True,
            )
        undo.pop_all()
    ours.setblocking(False)
    return Launched(process, ours)


@contextmanager
def prelaunched_zygote() -> Iterator[Launched | None]:
    """A zygote that gets ready in the background. If it was not taken, it is killed on exit.

    None if it cannot be started: the next attempt to start one raises the reason. Within another
    such context it is the zygote of that one.
    """
    if _prelaunched:
        yield _prelaunched[-1]
        return
    try:
        launched = launch()
    except OSError:
        launched = None
    _prelaunched.append(launched)
    try:
        yield launched
    finally:
        _prelaunched.pop()
        if launched is not None:
            launched.dismiss()
