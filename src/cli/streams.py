"""The standard streams of a command: closed from the start, without a reader, or on a full disk.

A stream that is closed when the command starts is `/dev/null`. When standard output cannot be
written, nothing more is written to it, and the command ends as `exit_without_output` says.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from typing import Final, NoReturn, TextIO

import click

from caps.cli.exits import ExitCode, fail

_NOT_SHOWN: Final = "\N{REPLACEMENT CHARACTER}"
# What a terminal obeys: control characters except the end of a line and a tab, and characters that
# change the direction of text. Half of a surrogate pair cannot be written at all.
_OBEYED: Final = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

_WRITE_ERRORS: Final = frozenset(
    {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EAGAIN, errno.EBADF}
)


def without_escapes(text: str) -> str:
    """`text` of a program, with a replacement character for each one that a terminal obeys.

    Not `escape_unprintable`: output keeps its line breaks and tabs, and has no use for escapes.
    """
    return _OBEYED.sub(_NOT_SHOWN, text)


def prepare_streams() -> None:
    """Open streams that are closed, and make those for output able to encode every character."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number, which is this one: no other file may get it.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_output() -> OSError | None:
    """Write what is buffered for standard output; the error if that fails.

    Afterwards nothing is buffered: what could not be written is dropped.
    """
    _flush(sys.stderr)  # it cannot be reported, and the interpreter would fail at its end
    return _flush(sys.stdout)


def _flush(stream: TextIO | None) -> OSError | None:
    try:
        if stream is not None:
            stream.flush()
    except OSError as error:
        _discard(stream)
        return error
    except ValueError:
        return None  # it was closed
    return None


def discard_output() -> None:
    """From now on, standard output goes nowhere."""
    _discard(sys.stdout)


def _discard(stream: TextIO | None) -> None:
    try:
        descriptor = None if stream is None else stream.fileno()
    except (OSError, ValueError):
        return  # not a file, as in a test
    if descriptor is not None:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, descriptor)
        os.close(devnull)


def is_of_output(error: OSError) -> bool:
    """Whether `error` is that of a write to a standard stream: no file has a name in it."""
    return error.filename is None and error.errno in _WRITE_ERRORS


def exit_without_output(error: OSError) -> NoReturn:
    """End the command whose output could not be written.

    Nothing more is written to it. If its reader has left there is no message, as in other commands:
    `caps audit show | head`.
    """
    discard_output()
    if error.errno == errno.EPIPE:
        sys.exit(ExitCode.NO_READER)
    reason = (error.strerror or "input/output error").lower()
    fail(f"standard output cannot be written: {reason}", ExitCode.HOST_FAILED)


class ProgramOutput:
    """Prints what a program prints. `lost` is why some of it could not be written, if so.

    The run continues without its output, for its effects and its evidence.
    """

    def __init__(self, *, raw: bool = False) -> None:
        """With `raw`, escapes are not replaced."""
        self._raw = raw
        self.lost: OSError | None = None

    def __call__(self, text: str) -> None:
        if self.lost is None:
            try:
                # With `color`, click does not drop escapes itself.
                click.echo(self.shown(text), nl=False, color=True)
            except OSError as error:
                self.lost = error
                discard_output()

    def shown(self, text: str) -> str:
        """`text` as it is printed."""
        return text if self._raw else without_escapes(text)

    def exit_if_lost(self) -> None:
        """End the command if output was lost for another reason than that nobody reads it."""
        if self.lost is not None and self.lost.errno != errno.EPIPE:
            exit_without_output(self.lost)
