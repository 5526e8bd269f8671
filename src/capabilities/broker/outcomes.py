"""(7) How a call of a provider ended, as a value, and whether its result or its error may leave.

A result leaves if it is JSON-like, fits its schema and fits the channel. An error is shortened
until it fits. The code of the provider's own types may run here, so any error is expected.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from caps.capabilities.grant import BoundCapability
from caps.capabilities.provider import CallContext
from caps.protocol.errors import CALL_ERRORS, CapsError, ProviderError
from caps.protocol.framing import DEFAULT_LIMITS, JSON_SCALARS, check_json_like, is_flat
from caps.protocol.messages import CallFailure
from caps.security.audit.model.records import CallStatus
from caps.security.audit.model.sanitize import truncate
from caps.worker.host.supervisor.interface import CallResponse
from caps.worker.host.supervisor.off_loop import run_off_loop

# The rest of a response is far smaller than the difference.
MAX_RESULT_BYTES = DEFAULT_LIMITS.max_frame_bytes - 64 * 1024
_LARGE_RESULT_BYTES = 64 * 1024
_SMALL_ITEMS = 64
_SMALL_CHARACTERS = 4096
_SCALARS = (int, float, bool, type(None))
_MAX_MESSAGE_CHARACTERS = 4096
_MAX_DETAILS_BYTES = 64 * 1024

_encoder = msgspec.msgpack.Encoder()

logger = logging.getLogger(__name__)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended: the answer for the worker, and the rest for the audit."""

    status: CallStatus
    answer: CallResponse
    reason: str | None = None
    """Why the call was denied after all: by its scope, a revocation or the deadline."""
    detail: str | None = None
    error_text: str | None = None
    """The text of an error. It may quote arguments, so the audit log gets only its digest."""
    bytes_out: int = 0


async def check_result(bound: BoundCapability, context: CallContext, result: Any) -> Outcome:
    """The outcome with the encoded result; a large one is checked in a thread."""
    if _is_small(result):
        return checked(bound, context, result)
    size = rough_size(result)
    return await run_off_loop(context.execution_id, size, checked, bound, context, result)


def rough_size(result: Any) -> int:
    """An estimate in bytes, which stops counting where a result is large anyway."""
    size, todo = 0, [result]
    while todo and size <= _LARGE_RESULT_BYTES:
        item = todo.pop()
        size += 64 + (len(item) if type(item) in (str, dict, list) else 0)
        if type(item) is dict and size <= _LARGE_RESULT_BYTES:
            todo.extend(item.values())
        elif type(item) is list and size <= _LARGE_RESULT_BYTES:
            todo.extend(item)
    return size


def _is_small(result: Any) -> bool:
    """Whether checking and encoding `result` certainly takes no time."""
    if type(result) in (dict, list) and len(result) <= _SMALL_ITEMS:
        return all(map(_is_small_scalar, result.values() if type(result) is dict else result))
    return _is_small_scalar(result)


def _is_small_scalar(value: Any) -> bool:
    return len(value) <= _SMALL_CHARACTERS if type(value) is str else type(value) in _SCALARS


def checked(bound: BoundCapability, context: CallContext, result: Any) -> Outcome:
    """The outcome with the encoded result, if that fits its schema and the channel."""
    try:
        check_json_like(result)
        problems = bound.schema_out.problems(result)
        encoded = _encoder.encode(result) if not problems else b""
    except Exception as error:  # noqa: BLE001 - code of the provider's own types runs here
        return _bad_output(context, type(error).__name__, _text_of(error), error)
    if problems:
        first = problems[0]
        # The path has names of the result, which may be values, such as the keys of a mapping.
        return _bad_output(context, "SchemaMismatch", f"{first.path}: expected {first.expected}")
    if len(encoded) > MAX_RESULT_BYTES:
        return _bad_output(context, f"{len(encoded)} bytes, over {MAX_RESULT_BYTES}")
    return ok_outcome(encoded)


def ok_outcome(encoded: bytes) -> Outcome:
    """The outcome with a result that may leave."""
    return Outcome(
        status=CallStatus.OK,
        answer=CallResponse(result=msgspec.Raw(encoded)),
        bytes_out=len(encoded),
    )


def encoded_flat(result: Any, fits: Callable[[Any], bool]) -> bytes | None:
    """The encoded `result` if it is a scalar or a flat record that `fits` its schema.

    None for any other: `checked` says what it is. No code of the provider's own types runs here.
    """
    kind = type(result)
    if kind in JSON_SCALARS or (kind is dict and is_flat(result, DEFAULT_LIMITS)):
        try:
            encoded = _encoder.encode(result) if fits(result) is True else b""
        except (ValueError, OverflowError):  # a lone surrogate, an integer of too many bits
            return None
        return encoded if 0 < len(encoded) <= MAX_RESULT_BYTES else None
    return None


def _bad_output(
    context: CallContext, detail: str, text: str | None = None, cause: Exception | None = None
) -> Outcome:
    """The outcome of a result that may not leave: `text` goes to the log of the host only."""
    error = ProviderError(
        f"`{context.capability}` gave a result that does not fit its schema or the channel",
        capability=context.capability,
    )
    logger.error(
        "the result of `%s` in request %a of execution `%s` does not fit: %a",
        *(context.capability, context.request_id, context.execution_id, text or detail),
        exc_info=cause,
    )
    return Outcome(
        status=CallStatus.INVALID_OUTPUT,
        answer=error_response(error),
        detail=detail,
        error_text=text,
    )


def _text_of(error: BaseException) -> str | None:
    """The text of an error; None if it has none. `__str__` is code of the provider, too."""
    try:
        return str(error) or None
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - then the class has to be enough
        return None


def failed(
    status: CallStatus,
    error: CapsError,
    reason: str | None,
    *,
    detail: str | None = None,
    cause: BaseException | None = None,
) -> Outcome:
    """The outcome with `error` for user space, and `cause` for the audit log."""
    return Outcome(
        status=status,
        answer=error_response(error),
        reason=reason,
        detail=type(cause).__name__ if cause is not None else detail,
        error_text=None if cause is None else _text_of(cause),
    )


def error_response(error: CapsError) -> CallResponse:
    """The response for `error`; it fits the channel, whatever a provider put into the error."""
    failure = CallFailure(
        code=error.code if error.code in CALL_ERRORS else ProviderError.code,
        message=truncate(str(error.message), _MAX_MESSAGE_CHARACTERS),
        details=error.details if _fits_channel(error.details) else {},
    )
    return CallResponse(failure=failure)


def _fits_channel(details: dict[str, Any]) -> bool:
    try:
        check_json_like(details)
        return len(_encoder.encode(details)) <= _MAX_DETAILS_BYTES
    except Exception:  # noqa: BLE001 - as for results
        return False
