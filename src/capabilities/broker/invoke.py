"""(7) Calling a provider: its deadline and its errors; `outcomes` checks its result.

Foreign exceptions stop here. User space sees only the message that a provider chose to show. The
audit log gets the class of the error and a digest of its text, which may quote arguments; the log
of the host gets the whole traceback, under the id of the request.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import msgspec

from caps.capabilities.broker.outcomes import (
    Outcome,
    check_result,
    checked,
    encoded_flat,
    failed,
    ok_outcome,
)
from caps.capabilities.grant import BoundCapability
from caps.capabilities.provider import CallContext, PlainProvider, Provider, without_suspending
from caps.protocol.errors import (
    CapabilityTimeoutError,
    LimitExceededError,
    PolicyDeniedError,
    ProviderError,
    ValidationError,
)
from caps.security.audit.model.records import CallStatus
from caps.security.reasons import ReasonCode
from caps.security.scopes import AllScopes, ScopeViolationError
from caps.worker.host.supervisor.byte_budget import CallShare, current_share


class CancellableCall(msgspec.Struct, eq=False):
    """A call that runs within `scope`, which ends at its deadline or when the call is stopped.

    `was_stopped` distinguishes the two.
    """

    capability: str
    scope: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)
    was_stopped: bool = False

    def stop(self) -> None:
        """End it now. If it is ending at its deadline already, that stays the reason."""
        self.was_stopped = self.was_stopped or not self.scope.cancel_called
        self.scope.cancel()


class CallsInFlight:
    """Of one execution: calls that wait for a person, or for their provider."""

    def __init__(self) -> None:
        self._calls: set[CancellableCall] = set()

    @contextmanager
    def stoppable(self, capability: str) -> Iterator[CancellableCall]:
        """What runs within ends when the capability is revoked."""
        call = CancellableCall(capability)
        self._calls.add(call)
        try:
            yield call
        finally:
            self._calls.remove(call)

    def stop(self, capabilities: frozenset[str]) -> None:
        """Stop the calls of these capabilities."""
        for call in self._calls:
            if call.capability in capabilities:
                call.stop()


# What a call reserves before its provider builds the result. A plain function has its arguments,
# the result and its encoded form in memory at once; a coroutine mostly waits.
_BUILT_BYTES = 4 * 1024 * 1024
_AWAITED_BYTES = 256 * 1024

_ARTIFACTS_EXCEEDED = ReasonCode.ARTIFACTS_EXCEEDED.value
_STOPPED = ProviderError("the call was stopped; whether it had its effect is not known")

T = TypeVar("T")

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from caps.capabilities.broker.streams import ItemStream

_async_library: contextvars.ContextVar[str | None] | None
try:
    from sniffio import current_async_library_cvar as _async_library
except ImportError:  # then anyio detects asyncio by itself
    _async_library = None


async def call_provider(
    bound: BoundCapability,
    context: CallContext,
    payload: Mapping[str, Any],
    *,
    policy_id: str,
    stoppable: CancellableCall | None = None,
    items: ItemStream | None = None,
) -> Outcome:
    """Call the provider within its deadline; every error that it raises becomes an outcome.

    The caller can stop it through `stoppable`: the outcome is then CANCELLED, not TIMEOUT. `items`
    takes those of a provider that streams.
    """
    share = current_share()
    if bound.inline:  # it has a key, was approved, or is traced
        await share.reserve(_AWAITED_BYTES)
        outcome = call_inline(bound, context, payload, policy_id=policy_id)
        share.settle(outcome.bytes_out)
        return outcome
    stoppable = CancellableCall(context.capability) if stoppable is None else stoppable
    deadline = stoppable.scope
    deadline.deadline = anyio.current_time() + context.timeout_ms / 1000
    with deadline:
        try:
            if items is not None:
                return await items.run(bound, context, payload, share, deadline)
            outcome = await _invoke(bound, context, payload, share)
        except BaseException as error:  # noqa: BLE001 - raised again if it is the host's own
            outcome = _outcome_of_error(error, bound, context, policy_id)
        share.settle(outcome.bytes_out)
        return outcome
    assert deadline.cancelled_caught
    if stoppable.was_stopped:
        return failed(CallStatus.CANCELLED, _STOPPED, None)
    late = CapabilityTimeoutError(
        f"`{context.capability}` did not answer within {context.timeout_ms} ms",
        capability=context.capability,
        timeout_ms=context.timeout_ms,
    )
    return failed(CallStatus.TIMEOUT, late, None)


def call_inline(
    bound: BoundCapability, context: CallContext, payload: Mapping[str, Any], *, policy_id: str
) -> Outcome:
    """The same for a provider without an `await`: no deadline could end it, so it has none.

    It runs outside any task, also if the caller runs in one: otherwise the provider could cancel
    the host's own task.
    """
    run, on_asyncio = without_suspending(bound.provider), runs_on_asyncio()

    def call() -> bytes | Outcome:
        return run_alone(run, bound, context, payload, policy_id, on_asyncio=on_asyncio)

    ended = outside_task(call)
    return ok_outcome(ended) if isinstance(ended, bytes) else ended


def runs_on_asyncio() -> bool:
    """Whether the event loop that runs here is one of asyncio; trio has no tasks of its kind."""
    return asyncio._get_running_loop() is not None  # noqa: SLF001 - exported by it


def outside_task(act: Callable[[], T]) -> T:
    """What `act` returns, which runs outside any task of asyncio: see `call_inline`."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # on trio, which has no tasks of this kind
        task = None
    if task is None:  # nearly always: in the event loop's callback
        return act()
    loop = task.get_loop()
    try:
        asyncio.tasks._leave_task(loop, task)  # noqa: SLF001 - what asyncio has for this
        return act()
    finally:
        asyncio.tasks._enter_task(loop, task)  # noqa: SLF001 - as above


def run_alone(
    run: PlainProvider,
    bound: BoundCapability,
    context: CallContext,
    payload: Mapping[str, Any],
    policy_id: str,
    *,
    on_asyncio: bool,
) -> bytes | Outcome:
    """`call_inline` outside any task: the encoded result, or the outcome of another end.

    The provider gets its own copy of the context, as a task does: it can change only that.
    """
    own = contextvars.copy_context()
    if on_asyncio and _async_library is not None and _async_library.get() != "asyncio":
        own.run(_async_library.set, "asyncio")  # anyio asks this, and looks for a task otherwise
    try:
        result = own.run(run, context, payload)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - what never suspends is not cancelled or closed
        declared = _declared_failure(error, bound, policy_id)
        return declared or _unexpected_failure(context, error)
    return encoded_flat(result, bound.schema_out.fits) or checked(bound, context, result)


def _outcome_of_error(
    error: BaseException, bound: BoundCapability, context: CallContext, policy_id: str
) -> Outcome:
    """The outcome of a call whose provider raised `error`. Errors of the host are raised again."""
    declared = _declared_failure(error, bound, policy_id)
    if declared is None and is_from_host(error):
        raise error
    return declared or _unexpected_failure(context, error)


def _declared_failure(
    error: BaseException, bound: BoundCapability, policy_id: str
) -> Outcome | None:
    """The outcome, if `error` is one of those with which a provider refuses or fails."""
    match error:
        case ScopeViolationError():
            return _refused_by_scope(bound, policy_id, error)
        case ValidationError():
            return failed(CallStatus.DENIED, error, ReasonCode.PAYLOAD_INVALID.value)
        case LimitExceededError() if error.details.get("reason") == _ARTIFACTS_EXCEEDED:
            return failed(CallStatus.DENIED, error, _ARTIFACTS_EXCEEDED)
        case ProviderError() | LimitExceededError() | CapabilityTimeoutError():
            return failed(CallStatus.PROVIDER_ERROR, error, None, cause=error)
        case PolicyDeniedError():  # of a call that the provider made
            return failed(CallStatus.DENIED, error, str(error.details.get("reason", "")))
        case _:
            return None


def is_from_host(error: BaseException) -> bool:
    """Whether `error` is the host's own: an interrupt, or a cancellation from outside the call.

    A provider that awaits a task which was cancelled elsewhere raises the same class. The call
    itself was not cancelled then, and user space must get an answer.
    """
    cancelled = anyio.get_cancelled_exc_class()
    if not isinstance(error, cancelled):
        return isinstance(error, (KeyboardInterrupt, GeneratorExit))
    if cancelled is not asyncio.CancelledError:
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def _invoke(
    bound: BoundCapability, context: CallContext, payload: Mapping[str, Any], share: CallShare
) -> Outcome:
    """Call the provider when there is room for its result, and check the result."""
    if _is_async(bound.provider):
        await share.reserve(_AWAITED_BYTES)
        result = bound.provider(context, payload)
    else:
        await share.reserve(_BUILT_BYTES)
        # A thread cannot be stopped: when its deadline passes it is abandoned, its result unread.
        result = await context.run_in_thread(bound.provider, context, payload)
    if inspect.isawaitable(result):
        result = await result
    return await check_result(bound, context, result)


def _is_async(provider: Provider) -> bool:
    call = getattr(provider, "__call__", None)  # noqa: B004 - its kind matters, not its presence
    return inspect.iscoroutinefunction(provider) or inspect.iscoroutinefunction(call)


def _unexpected_failure(context: CallContext, error: BaseException) -> Outcome:
    shown = ProviderError(
        f"`{context.capability}` failed; the log of the host says why under "
        f"request `{context.request_id}`",
        capability=context.capability,
    )
    # The id was chosen by the worker: `%a` keeps it in one line.
    logger.error(
        "the provider of `%s` failed in request %a of execution `%s`",
        *(context.capability, context.request_id, context.execution_id),
        exc_info=error,
    )
    return failed(CallStatus.PROVIDER_ERROR, shown, None, cause=error)


def _refused_by_scope(
    bound: BoundCapability, policy_id: str, error: ScopeViolationError
) -> Outcome:
    rule = f"scopes.{bound.spec.domain}.{error.violation.rule}"
    if isinstance(bound.scope, AllScopes):
        policy_id = bound.scope.policy_of(error.scope)
    denied = PolicyDeniedError(
        f"`{bound.name}` is not granted by policy `{policy_id}` for these arguments: "
        f"{error.violation.message}",
        capability=bound.name,
        reason=ReasonCode.SCOPE_VIOLATION.value,
        policy_id=policy_id,
    )
    return failed(
        CallStatus.DENIED, denied, ReasonCode.SCOPE_VIOLATION.value, detail=f"outside `{rule}`"
    )
