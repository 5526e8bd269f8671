"""Exit codes and one-line errors, the same for all commands."""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from caps.protocol.errors import CallerFault, CapsError, PolicyInvalidError


class ExitCode(enum.IntEnum):
    OK = 0
    CODE_FAILED = 1
    BAD_USAGE = 2
    POLICY_REFUSED = 3
    POLICY_INVALID = 4
    LIMIT = 5
    HOST_FAILED = 6
    FOUND = 7  # a policy tool found what it looks for
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it
    TERMINATED = 143  # 128 + SIGTERM


def fail(message: str, code: ExitCode) -> NoReturn:
    """Print one line and leave."""
    click.echo(f"caps: {message}", err=True)
    sys.exit(code)


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """An error of ours ends the command with its message and its exit code, without a traceback."""
    try:
        yield
    except PolicyInvalidError as error:
        fail(error.message, ExitCode.POLICY_INVALID)
    except CallerFault as error:
        fail(error.message, ExitCode.BAD_USAGE)
    except CapsError as error:
        fail(error.message, ExitCode.HOST_FAILED)
    except KeyboardInterrupt:
        fail("interrupted", ExitCode.INTERRUPTED)
