"""What an embedding program gives to the code: values under names, and the arguments of `sys.argv`.

The values are encoded as results are, so code gets what a result can be. The audit log has the
names and a digest of each value.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from caps.protocol.argument_checks import require
from caps.protocol.errors import ConfigurationError, ProtocolError
from caps.protocol.framing import check_json_like
from caps.protocol.text import printable
from caps.protocol.values import encode_value
from caps.security.audit.model.redaction import Redactor

MAX_INPUTS = 256
MAX_INPUT_BYTES = 4 * 1024 * 1024
MAX_NAME_CHARACTERS = 128
MAX_ARGUMENTS = 1024
MAX_ARGUMENT_BYTES = 128 * 1024


class EncodedInputs(msgspec.Struct, frozen=True):
    """The inputs of one execution, on their way to the worker."""

    data: bytes = b""
    digests: dict[str, str] = {}
    """For each name, the digest of its value."""


NO_INPUTS = EncodedInputs()


def encode_inputs(
    inputs: Mapping[str, Any] | None, namespace: str, redactor: Redactor
) -> EncodedInputs:
    """`inputs` in the form that is sent and recorded. Raises ConfigurationError."""
    if inputs is None:
        return NO_INPUTS
    require(isinstance(inputs, Mapping), "inputs", inputs, "a mapping of names to values")
    if len(inputs) > MAX_INPUTS:
        raise ConfigurationError(f"there are {len(inputs)} inputs; pass at most {MAX_INPUTS}")
    left, parts, digests = MAX_INPUT_BYTES, {}, {}
    for name, value in inputs.items():
        _check_name(name, namespace)
        encoded = _encoded(name, value, left)
        left -= len(encoded)
        parts[name] = msgspec.Raw(encoded)
        digests[name] = _digest(value, encoded, redactor)
    return EncodedInputs(msgspec.msgpack.encode(parts), digests) if parts else NO_INPUTS


def checked_arguments(argv: Sequence[str] | None) -> tuple[str, ...] | None:
    """The arguments of the program. ConfigurationError unless they are a bounded list of strings"""
    if argv is None:
        return None
    fits = isinstance(argv, (list, tuple)) and all(isinstance(each, str) for each in argv)
    require(fits, "argv", argv, "a list of strings")
    size = sum(len(each.encode("utf-8", "replace")) for each in argv)
    if len(argv) > MAX_ARGUMENTS or size > MAX_ARGUMENT_BYTES:
        raise ConfigurationError(
            f"argv has {len(argv)} strings of {size} bytes; pass at most {MAX_ARGUMENTS} of "
            f"{MAX_ARGUMENT_BYTES} bytes"
        )
    return tuple(each.encode("utf-8", "replace").decode() for each in argv)


def _check_name(name: object, namespace: str) -> None:
    require(isinstance(name, str), "the name of an input", name, "a `str`")
    assert isinstance(name, str)
    shown = printable(name, MAX_NAME_CHARACTERS)
    if len(name) > MAX_NAME_CHARACTERS or not name.isidentifier() or keyword.iskeyword(name):
        raise ConfigurationError(f"input `{shown}` cannot be a name; use a Python identifier")
    if name.startswith("_") or name == namespace:
        raise ConfigurationError(f"input `{shown}` is a reserved name; choose another")


def _encoded(name: str, value: Any, max_bytes: int) -> bytes:
    try:
        return encode_value(value, max_bytes=max_bytes)
    except (TypeError, ValueError) as error:
        what = printable(str(error).replace("the result", "its value"))
        raise ConfigurationError(f"input `{name}` cannot be sent: {what}") from None


def _digest(value: Any, encoded: bytes, redactor: Redactor) -> str:
    """As for an argument of a call, so that the value can be looked up, if JSON can represent it"""
    try:
        check_json_like(value)
    except ProtocolError:
        return redactor.digest(encoded.hex())
    return redactor.digest(value)
