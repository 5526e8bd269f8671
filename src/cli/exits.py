"""Exit codes and one-line errors, the same for all commands."""

from __future__ import annotations

import contextlib
import enum
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import click

from caps.protocol.errors import (
    AuditError,
    CallerFault,
    CapsError,
    LimitExceededError,
    PolicyDeniedError,
    PolicyInvalidError,
)
from caps.protocol.text import printable

MAX_MESSAGE_CHARACTERS = 4096


class ExitCode(enum.IntEnum):
    OK = 0
    CODE_FAILED = 1
    BAD_USAGE = 2
    POLICY_REFUSED = 3
    POLICY_INVALID = 4
    LIMIT = 5
    HOST_FAILED = 6
    FOUND = 7  # a policy tool found something
    INTERRUPTED = 130  # 128 + SIGINT, as in shells
    NO_READER = 141  # 128 + SIGPIPE: nobody reads standard output
    TERMINATED = 143  # 128 + SIGTERM


# How a command ends whose call was refused or failed; any other error is one of the function.
EXIT_BY_CALL_ERROR: Final = {
    PolicyDeniedError.code: ExitCode.POLICY_REFUSED,
    LimitExceededError.code: ExitCode.LIMIT,
    AuditError.code: ExitCode.HOST_FAILED,
}


# What an extra installs and a command imports late.
_EXTRAS: Final = {"alembic": "store", "httpcore2": "client", "mcp": "mcp", "sqlalchemy": "store"}


def fail(message: str, code: ExitCode) -> NoReturn:
    """Print one line and exit. What is quoted in it may be long, or hold escapes."""
    with contextlib.suppress(OSError):  # nobody reads it; the exit code says the same
        click.echo(f"caps: {printable(message, MAX_MESSAGE_CHARACTERS)}", err=True)
    sys.exit(code)


@contextmanager
def report_errors() -> Iterator[None]:
    """End the command at one of our errors: with its message and exit code, without a traceback."""
    try:
        yield
    except PolicyInvalidError as error:
        fail(error.message, ExitCode.POLICY_INVALID)
    except CallerFault as error:
        fail(error.message, ExitCode.BAD_USAGE)
    except CapsError as error:
        fail(error.message, ExitCode.HOST_FAILED)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        fail(f"this needs the extra `{extra}`; install `caps-runtime[{extra}]`", ExitCode.BAD_USAGE)
    except KeyboardInterrupt:
        fail("interrupted", ExitCode.INTERRUPTED)


def fail_of_system(error: OSError | MemoryError) -> NoReturn:
    """End the command at an error of the operating system that nothing else translated."""
    if isinstance(error, MemoryError):
        fail("there is not enough memory", ExitCode.HOST_FAILED)
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    if error.filename is None:
        fail(reason, ExitCode.HOST_FAILED)
    fail(f"`{_as_text(error.filename)}`: {reason}", ExitCode.BAD_USAGE)


def _as_text(filename: object) -> str:
    return os.fsdecode(filename) if isinstance(filename, (str, bytes, os.PathLike)) else "a file"
