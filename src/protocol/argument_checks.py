"""Checks of the arguments that an embedding program passes.

Without them, a value of a wrong type fails deep inside or in a later call, where the error does not
say which argument it was. Here the error is one line that names the argument.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from caps.protocol.errors import CallerFault, ConfigurationError
from caps.protocol.text import printable

# A hundred years; the waits of threads and locks take no number that is much larger.
MAX_SECONDS: Final = 100 * 365 * 86_400
_MAX_NUMBER_CHARACTERS = 40


def require(
    fits: bool,
    name: str,
    value: object,
    expected: str,
    error: type[CallerFault] = ConfigurationError,
) -> None:
    """Raise `error` unless the argument `name` fits; `expected` says what it must be."""
    if not fits:
        raise error(f"{name} must be {expected}, not `{type(value).__name__}`")


def require_int(name: str, value: object, minimum: int, maximum: int | None = None) -> None:
    """Raise ConfigurationError unless `value` is an integer within these bounds."""
    bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    expected = f"an integer {bounds}"
    require(isinstance(value, int) and not isinstance(value, bool), name, value, expected)
    assert isinstance(value, int)
    if value < minimum or (maximum is not None and value > maximum):
        shown = printable(_number(value), _MAX_NUMBER_CHARACTERS)
        raise ConfigurationError(f"{name} is `{shown}`; set {expected}")


def require_seconds(name: str, value: object) -> None:
    """Raise ConfigurationError unless `value` is a number of seconds from 0 to `MAX_SECONDS`."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    require(fits, name, value, "a number of seconds")
    assert isinstance(value, (int, float))
    if not 0 <= value <= MAX_SECONDS:
        shown = printable(_number(value), _MAX_NUMBER_CHARACTERS)
        raise ConfigurationError(
            f"{name} is `{shown}`; set a number of seconds from 0 to {MAX_SECONDS}"
        )


def require_path(name: str, value: str | os.PathLike[str]) -> Path:
    """`value` as a path. ConfigurationError if it cannot be the name of a file or directory."""
    try:
        if b"\0" not in os.fsencode(value):
            return Path(value)
        shown = os.fspath(value)
    except TypeError:
        raise ConfigurationError(f"{name} must be a path, not `{type(value).__name__}`") from None
    except UnicodeEncodeError:
        shown = os.fspath(value)
    raise ConfigurationError(f"{name} is `{printable(shown)}`, which cannot be the name of a file")


def _number(value: float) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python converts
        return hex(int(value))


def has_methods(value: object, *methods: str) -> bool:
    """Whether `value` is an instance, not a class, and has all of these methods."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in methods
    )
