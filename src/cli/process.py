"""The process of the command `caps`: what it begins before it loads the command, and how it ends.

Who calls the command from a program of their own calls `caps.cli.main.main`.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module

from caps.cli.gc_pause import gc_paused
from caps.protocol.environment import Variable
from caps.protocol.errors import CapsError


def main() -> None:
    """Run the command that `sys.argv` names, and end the process."""
    try:
        with _zygote_in_advance(sys.argv[1:]):
            with gc_paused(), _interrupts_kill():
                from caps.cli.main import main as command

                if _is_run(sys.argv[1:]):
                    import_module("caps.cli.commands.run")
            command()
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise  # None, or a message that the interpreter prints
        end_process(ended.code)


@contextmanager
def _interrupts_kill() -> Iterator[None]:
    """In this context an interrupt ends the process, as it ends others.

    Raised in the middle of an import, its error could be taken for another one, or be ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else it is ignored, or the caller's own
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)


def _is_run(arguments: list[str]) -> bool:
    """Whether it is `caps run`. The arguments are not parsed yet, so this is a guess."""
    return arguments[:1] == ["run"] and {"-h", "--help"}.isdisjoint(arguments)


def _zygote_in_advance(arguments: list[str]) -> AbstractContextManager[object]:
    """Start the zygote of `caps run` first of all: it takes as long to get ready as the command.

    A zygote that nobody takes is killed.
    """
    # A stream that is closed is opened later, with the number that a socket would get now.
    has_streams = None not in (sys.stdin, sys.stdout, sys.stderr)
    if not _is_run(arguments) or not has_streams or _is_remote():
        return nullcontext()
    from caps.worker.host.zygote.launch import prelaunched_zygote

    return prelaunched_zygote()


def _is_remote() -> bool:
    """Whether a server runs the code, or a configuration that cannot be read may say so."""
    try:
        return bool(Variable.SERVER.read())
    except CapsError:  # the command reports it
        return True


def end_process(status: int) -> None:
    """End in the order of the interpreter, which would then free each object by itself.

    All memory goes with the process. Freeing it first takes 10 ms.
    """
    from caps.cli.streams import flush_output

    try:
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as `multiprocessing`
    except BaseException:  # noqa: BLE001 - an interrupt ends this wait, and nothing else
        traceback.print_exc()
    atexit._run_exitfuncs()  # noqa: SLF001
    flush_output()
    os._exit(status)
