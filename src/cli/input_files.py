"""Reading what a user names: a regular file or standard input, up to a bound.

A pipe under that name would make the command wait for ever, and a device may have no end.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from caps.cli.exits import ExitCode, fail

STANDARD_INPUT = "-"
MAX_INPUT_FILE_BYTES = 16 * 1024 * 1024


def read_input(name: str | Path, max_bytes: int) -> bytes:
    """The content of the file, or of standard input for `-`; ends the command if there is none.

    At most one byte more than `max_bytes`, so that the caller can refuse a longer one.
    """
    try:
        if name == STANDARD_INPUT:
            if sys.stdin is None:
                fail("there is no standard input to read", ExitCode.BAD_USAGE)
            return _read(sys.stdin.buffer, max_bytes + 1)
        with _open_regular(name) as file:
            return _read(file, max_bytes + 1)
    except OSError as error:
        reason = (error.strerror or "input/output error").lower()
        fail(f"`{name}` cannot be read: {reason}", ExitCode.BAD_USAGE)
    except ValueError:  # NUL in the name, or standard input was closed
        fail(f"`{name}` cannot be read: there is no such file", ExitCode.BAD_USAGE)


def read_text(name: str | Path, max_bytes: int) -> str:
    """The same as UTF-8 text, without a mark of byte order; longer text is cut."""
    data = read_input(name, max_bytes)
    try:
        # The caller refuses text that is too long, so a character that was cut does not matter.
        return data.decode("utf-8-sig", "replace" if len(data) > max_bytes else "strict")
    except UnicodeDecodeError as error:
        fail(f"`{name}` is not UTF-8 text: byte {error.start}", ExitCode.BAD_USAGE)


def parse_payload(text: str) -> dict[str, Any]:
    """The JSON object in `text`; ends the command if it is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        fail(f"the payload is not valid JSON: {error}", ExitCode.BAD_USAGE)
    if not isinstance(value, dict):
        fail("the payload must be a JSON object", ExitCode.BAD_USAGE)
    return value


def parse_inputs(given: Sequence[str]) -> dict[str, Any]:
    """The values of `NAME=VALUE`; ends the command if one cannot be read."""
    values: dict[str, Any] = {}
    for one in given:
        name, found, value = one.partition("=")
        if not found or name in values:
            what = "is given twice" if found else "has no value; give NAME=VALUE"
            fail(f"input `{name}` {what}", ExitCode.BAD_USAGE)
        values[name] = _input_of_file(value[1:]) if value.startswith("@") else _json_or_text(value)
    return values


def _input_of_file(file: str) -> Any:
    """The content of a file: JSON for a name that ends with `.json`, text for any other."""
    text = read_text(file, MAX_INPUT_FILE_BYTES)
    if not file.endswith(".json"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        fail(f"`{file}` is not valid JSON: {error}", ExitCode.BAD_USAGE)


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _open_regular(name: str | Path) -> BinaryIO:
    # Non-blocking: opening a pipe would wait until somebody writes to it.
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            fail(f"`{name}` cannot be read: is a directory", ExitCode.BAD_USAGE)
        if not stat.S_ISREG(kind):
            hint = f"`{STANDARD_INPUT}` reads standard input"
            fail(f"`{name}` is not a regular file; {hint}", ExitCode.BAD_USAGE)
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def _read(file: BinaryIO, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0:
        # None: a file of the kernel that has nothing to read now, and may have later.
        part: bytes | None = file.read(count)
        if part is None:
            raise BlockingIOError(None, "it has nothing to read now")
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_source(file: str) -> str:
    """The code in FILE, or standard input for `-`; ends the command if it cannot be read."""
    from caps.protocol.messages import MAX_SOURCE_BYTES

    return read_text(file, MAX_SOURCE_BYTES)
