"""Starting a zygote: a clean interpreter with one socket. Needs no event loop, and imports little.

So that a command can start it first of all, and it gets ready while the command itself does.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

ZYGOTE_COMMAND = (sys.executable, "-I", "-m", "caps.worker.inside")


class Launched:
    """A zygote that was started and that nobody listens to yet. Who takes it over ends it."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.process = process
        self.control = control
        self._taken = False

    def take(self) -> Launched | None:
        """Itself, the first time."""
        found, self._taken = None if self._taken else self, True
        return found

    def dismiss(self) -> None:
        """Kill it, unless somebody has taken it over. It has no workers yet."""
        if self.take() is not None:
            self.control.close()
            self.process.kill()
            self.process.communicate()


def launch(arguments: tuple[str, ...] = ()) -> Launched:
    """Start a zygote. OSError."""
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
def launched_ahead() -> Iterator[Launched | None]:
    """A zygote that gets ready meanwhile; if nobody takes it over it is gone afterwards.

    None if it cannot be started: whoever tries again says why.
    """
    try:
        launched = launch()
    except OSError:
        launched = None
    try:
        yield launched
    finally:
        if launched is not None:
            launched.dismiss()
