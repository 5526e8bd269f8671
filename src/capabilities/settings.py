"""What the environment may set, read once and checked: a bad value is an error, not a default."""

from __future__ import annotations

import os

from caps.protocol.errors import ConfigurationError
from caps.protocol.argument_checks import refuse_unless_whole

DEFAULT_TIMEOUT_VARIABLE = "CAPS_CAPABILITY_DEFAULT_TIMEOUT_MS"
_DEFAULT_TIMEOUT_MS = 30_000
_LONGEST_TIMEOUT_MS = 3_600_000


def capability_timeout_ms(given: int | None) -> int:
    """The cap on every capability call: `given`, or the environment's, or thirty seconds."""
    if given is not None:
        refuse_unless_whole("default_timeout_ms", given, 1, _LONGEST_TIMEOUT_MS)
        return given
    text = os.environ.get(DEFAULT_TIMEOUT_VARIABLE, "")
    if not text:
        return _DEFAULT_TIMEOUT_MS
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= _LONGEST_TIMEOUT_MS:
        raise ConfigurationError(
            f"{DEFAULT_TIMEOUT_VARIABLE} is `{text}`; set a whole number of milliseconds from 1 to "
            f"{_LONGEST_TIMEOUT_MS}"
        )
    return value
