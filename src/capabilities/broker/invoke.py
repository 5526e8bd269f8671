"""(7) Calling a provider: its deadline, its errors, and whether its result may leave.

Foreign exceptions stop here. User space is told what a provider chose to tell; the audit gets the
rest through `Outcome.detail`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from caps.capabilities.grant import Terms
from caps.capabilities.provider import CallContext, Provider, finished
from caps.capabilities.stoppable import StoppableCall
from caps.protocol.errors import (
    CALL_ERRORS,
    CapabilityTimeoutError,
    CapsError,
    PolicyDeniedError,
    ProviderError,
    ValidationError,
)
from caps.protocol.framing import DEFAULT_LIMITS, check_json_like
from caps.protocol.messages import CallFailure
from caps.security.audit.model.sanitize import text
from caps.security.audit.model.records import CallStatus
from caps.security.decision import ReasonCode
from caps.security.scopes import ScopeViolationError
from caps.worker.host.supervisor.supervisor import Answer

# What a response needs beside its result is far below this.
_MAX_RESULT_BYTES = DEFAULT_LIMITS.max_frame_bytes - 64 * 1024
_MAX_MESSAGE_CHARACTERS = 4096
_MAX_DETAILS_BYTES = 64 * 1024

# How many plain providers may run at once in this process, those left behind included.
_threads = threading.Semaphore(128)

_STOPPED = ProviderError("the call was stopped; whether it had its effect is not known")

_encoder = msgspec.msgpack.Encoder()

_async_library: contextvars.ContextVar[str | None] | None
try:
    from sniffio import current_async_library_cvar as _async_library
except ImportError:  # then anyio asks asyncio itself
    _async_library = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended: what the worker is told, and what the audit is."""

    status: CallStatus
    answer: Answer
    reason: str | None = None
    detail: str | None = None
    bytes_out: int = 0

    @property
    def denied_for(self) -> str:
        """Why it was denied, if it was: by its scope, unless something else is said."""
        return self.reason or ReasonCode.SCOPE_VIOLATION.value


async def call_provider(
    terms: Terms,
    context: CallContext,
    payload: Mapping[str, Any],
    *,
    policy_id: str,
    stoppable: StoppableCall | None = None,
) -> Outcome:
    """Call the provider within its deadline; every error of its becomes an outcome.

    `stoppable` is for the caller to stop it by: then it was cancelled, and not too late.
    """
    if terms.at_once:  # it has a key, or was approved
        return call_at_once(terms, context, payload, policy_id=policy_id)
    stoppable = StoppableCall(context.capability) if stoppable is None else stoppable
    deadline = stoppable.scope
    deadline.deadline = anyio.current_time() + context.timeout_ms / 1000
    with deadline:
        try:
            result = await _invoke(terms.provider, context, payload)
        except BaseException as error:  # noqa: BLE001 - raised again if it is the host's own
            return _ended_by(error, terms, context, policy_id)
        return _checked(terms, context, result)
    assert deadline.cancelled_caught
    if stoppable.was_stopped:
        return _failed(CallStatus.CANCELLED, _STOPPED, None)
    late = CapabilityTimeoutError(
        f"`{context.capability}` did not answer within {context.timeout_ms} ms",
        capability=context.capability,
        timeout_ms=context.timeout_ms,
    )
    return _failed(CallStatus.TIMEOUT, late, None)


def call_at_once(
    terms: Terms, context: CallContext, payload: Mapping[str, Any], *, policy_id: str
) -> Outcome:
    """The same for a provider that never waits: no deadline could end it, so it has none.

    It runs in no task, also if this does: what it cancelled there would be the host's own.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # on trio, which has no tasks of this kind
        return _call_in_no_task(terms, context, payload, policy_id, on_asyncio=False)
    task = asyncio.current_task(loop)
    if task is None:
        return _call_in_no_task(terms, context, payload, policy_id)
    try:
        asyncio.tasks._leave_task(loop, task)  # noqa: SLF001 - what asyncio has for this
        return _call_in_no_task(terms, context, payload, policy_id)
    finally:
        asyncio.tasks._enter_task(loop, task)  # noqa: SLF001 - as above


def _call_in_no_task(
    terms: Terms,
    context: CallContext,
    payload: Mapping[str, Any],
    policy_id: str,
    *,
    on_asyncio: bool = True,
) -> Outcome:
    """It runs in a context of its own, as in a task: what it sets there is nobody else's."""
    own = contextvars.copy_context()
    if on_asyncio and _async_library is not None:
        own.run(_async_library.set, "asyncio")  # what anyio asks, which looks for a task else
    try:
        result = own.run(_stepped, terms.provider, context, payload)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - nobody cancels or closes what never waits
        return _told_by(error, terms, policy_id) or _broke(context, error)
    return _checked(terms, context, result)


def _stepped(provider: Provider, context: CallContext, payload: Mapping[str, Any]) -> Any:
    return finished(provider(context, payload))


def _ended_by(error: BaseException, terms: Terms, context: CallContext, policy_id: str) -> Outcome:
    """The outcome of a call whose provider raised `error`, which is raised if it is not its."""
    told = _told_by(error, terms, policy_id)
    if told is None and _is_not_the_providers(error):
        raise error
    return told or _broke(context, error)


def _told_by(error: BaseException, terms: Terms, policy_id: str) -> Outcome | None:
    """The outcome, if `error` is one that a provider refuses or fails by."""
    match error:
        case ScopeViolationError():
            return _refused_by_scope(terms, policy_id, error)
        case ValidationError():
            return _failed(CallStatus.DENIED, error, ReasonCode.PAYLOAD_INVALID.value)
        case ProviderError():
            return _failed(CallStatus.PROVIDER_ERROR, error, None, detail=error.message)
        case _:
            return None


def _is_not_the_providers(error: BaseException) -> bool:
    """Whether `error` is the host's own: an interrupt, or a cancellation that comes from outside.

    A provider that awaits a task which somebody else cancelled raises the same class; nobody
    cancelled the call itself, and user space would wait in vain for its answer.
    """
    cancelled = anyio.get_cancelled_exc_class()
    if not isinstance(error, cancelled):
        return isinstance(error, (KeyboardInterrupt, GeneratorExit))
    if cancelled is not asyncio.CancelledError:
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def _invoke(provider: Provider, context: CallContext, payload: Mapping[str, Any]) -> Any:
    if _is_async(provider):
        result = provider(context, payload)
    else:
        # A thread cannot be stopped: when its deadline passes it is left behind, its result unread.
        result = await anyio.to_thread.run_sync(
            _in_thread, provider, context, payload, abandon_on_cancel=True
        )
    return await result if inspect.isawaitable(result) else result


def _in_thread(provider: Provider, context: CallContext, payload: Mapping[str, Any]) -> Any:
    """Call a plain provider; one that was left behind still counts until it returns."""
    if not _threads.acquire(blocking=False):
        raise ProviderError("too many providers still run past their deadline; try again later")
    try:
        return provider(context, payload)
    finally:
        _threads.release()


def _is_async(provider: Provider) -> bool:
    call = getattr(provider, "__call__", None)  # noqa: B004 - its kind matters, not its presence
    return inspect.iscoroutinefunction(provider) or inspect.iscoroutinefunction(call)


def _checked(terms: Terms, context: CallContext, result: Any) -> Outcome:
    """The result as it goes out, if it may."""
    try:
        check_json_like(result)
        problems = terms.schema_out.problems(result)
        encoded = _encoder.encode(result) if not problems else b""
    except Exception as error:  # noqa: BLE001 - it runs code of the provider's own types
        return _bad_output(context, _described(error))
    if problems:
        first = problems[0]
        return _bad_output(context, f"{first.path}: expected {first.expected}")
    if len(encoded) > _MAX_RESULT_BYTES:
        return _bad_output(context, f"{len(encoded)} bytes, over {_MAX_RESULT_BYTES}")
    return Outcome(
        status=CallStatus.OK,
        answer=Answer(result=msgspec.Raw(encoded)),
        bytes_out=len(encoded),
    )


def _broke(context: CallContext, error: BaseException) -> Outcome:
    shown = ProviderError(
        f"`{context.capability}` failed; the audit log says why under "
        f"request `{context.request_id}`",
        capability=context.capability,
    )
    return _failed(CallStatus.PROVIDER_ERROR, shown, None, detail=_described(error))


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - its own text is the provider's code, too
        return type(error).__name__


def _bad_output(context: CallContext, detail: str) -> Outcome:
    error = ProviderError(
        f"`{context.capability}` gave a result that does not fit its schema or the channel",
        capability=context.capability,
    )
    return _failed(CallStatus.INVALID_OUTPUT, error, None, detail=detail)


def _refused_by_scope(terms: Terms, policy_id: str, error: ScopeViolationError) -> Outcome:
    rule = f"scopes.{terms.spec.domain}.{error.violation.rule}"
    denied = PolicyDeniedError(
        f"`{terms.name}` is not granted by policy `{policy_id}` for these arguments: "
        f"{error.violation.message}",
        capability=terms.name,
        reason=ReasonCode.SCOPE_VIOLATION.value,
        policy_id=policy_id,
    )
    return _failed(
        CallStatus.DENIED, denied, ReasonCode.SCOPE_VIOLATION.value, detail=f"outside `{rule}`"
    )


def _failed(
    status: CallStatus, error: CapsError, reason: str | None, *, detail: str | None = None
) -> Outcome:
    return Outcome(status=status, answer=failure_answer(error), reason=reason, detail=detail)


def failure_answer(error: CapsError) -> Answer:
    """What user space is told of `error`, fit for the channel whatever a provider put into it."""
    failure = CallFailure(
        code=error.code if error.code in CALL_ERRORS else ProviderError.code,
        message=text(str(error.message), _MAX_MESSAGE_CHARACTERS),
        details=error.details if _fits_channel(error.details) else {},
    )
    return Answer(failure=failure)


def _fits_channel(details: dict[str, Any]) -> bool:
    try:
        check_json_like(details)
        return len(_encoder.encode(details)) <= _MAX_DETAILS_BYTES
    except Exception:  # noqa: BLE001 - as for results
        return False
