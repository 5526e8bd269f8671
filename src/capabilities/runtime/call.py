"""One call of one function without any code: `Runtime.call`.

The call takes the same path as a call from user space: the broker decides, records, acts, records
and answers. Only the channel differs: here it is the embedding program, which says who the caller
is. There is no worker, so there is no record of a start or an end. The call is the only one of its
execution, unless it is made in a `CallChannel`: then all calls of the channel are of one execution,
which has one flow state, one set of limits and one budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from caps.capabilities.artifacts import Artifact
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.broker.idempotency import IdempotencyCache
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.grant import Grant
from caps.capabilities.identity import Identity, new_id
from caps.capabilities.runtime.formats.json_value import to_json
from caps.capabilities.runtime.formats.model_text import (
    MAX_CHARACTERS,
    MIN_CHARACTERS,
    call_text_for_model,
)
from caps.capabilities.runtime.open_runtime import ActiveExecutions
from caps.capabilities.runtime.result import Failure, failure_of_host
from caps.capabilities.threads import run_in_runtime_thread
from caps.protocol.argument_checks import require_int
from caps.protocol.errors import CALL_ERRORS, ConfigurationError, ProtocolError
from caps.protocol.framing import DEFAULT_LIMITS, check_json_like
from caps.protocol.messages import CapabilityRequestMessage
from caps.worker.host.supervisor.interface import CallResponse
from caps.worker.host.supervisor.off_loop import LARGE_BYTES

# As large as a request from user space.
MAX_REQUEST_BYTES = DEFAULT_LIMITS.max_worker_frame_bytes

_decoder = msgspec.msgpack.Decoder(CapabilityRequestMessage)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The end of one call: its value, or why there is none."""

    execution_id: str
    request_id: str
    capability: str
    value: Any
    error: Failure | None
    decision: DecisionSummary | None
    artifacts: tuple[Artifact, ...] = ()
    """What the call handed out."""

    @property
    def ok(self) -> bool:
        return self.error is None

    def unwrap(self) -> Any:
        """The value. Raises the error that a caller in user space would see, if there is one."""
        if self.error is not None:
            raise CALL_ERRORS[self.error.code](self.error.message, **self.error.details)
        return self.value

    def for_model(self, max_characters: int = MAX_CHARACTERS) -> str:
        """The text to put back into the prompt: the value as JSON, or the error."""
        require_int("max_characters", max_characters, MIN_CHARACTERS)
        return call_text_for_model(self, max_characters)

    def as_json(self) -> dict[str, Any]:
        """Plain data for any JSON reader."""
        error = self.error and {
            "code": self.error.code,
            "type": self.error.type,
            "message": self.error.message,
            "details": self.error.details,
        }
        return {
            "execution_id": self.execution_id,
            "request_id": self.request_id,
            "capability": self.capability,
            "ok": self.ok,
            "value": self.value,
            "error": error,
            "decision": None if self.decision is None else asdict(self.decision),
            "artifacts": [to_json(artifact.as_dict())[0] for artifact in self.artifacts],
        }


class FunctionCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call to make, and its caller."""

    identity: Identity
    request: CapabilityRequestMessage
    is_large: bool


def function_call(
    identity: Identity,
    request_id: str,
    name: str,
    payload: Any,
    *,
    timeout_ms: int | None,
    idempotency_key: str | None,
) -> FunctionCall:
    """A call with a copy of `payload`, within the bounds of a request from user space.

    Raises ConfigurationError for arguments that no request can have.
    """
    message = {
        "type": CapabilityRequestMessage.type,
        "id": "1",
        "timestamp": 0.0,
        "request_id": request_id,
        "capability": name,
        "payload": {} if payload is None else payload,
        "idempotency_key": idempotency_key,
        "timeout_ms": timeout_ms,
    }
    try:
        check_json_like(message)
        encoded = msgspec.msgpack.encode(message)
        if len(encoded) > MAX_REQUEST_BYTES:
            raise ProtocolError(f"{len(encoded)} bytes, over {MAX_REQUEST_BYTES}")
        request = _decoder.decode(encoded)
    except (ProtocolError, msgspec.MsgspecError, UnicodeEncodeError, OverflowError) as error:
        raise ConfigurationError(f"the call cannot be made: {_in_one_line(error)}") from None
    return FunctionCall(identity=identity, request=request, is_large=len(encoded) > LARGE_BYTES)


def _in_one_line(error: Exception) -> str:
    return str(error).replace("`$.", "`").replace("Expected", "expected")


class CallChannel:
    """The calls of one execution. Opened by `open_channel`."""

    def __init__(self, broker: ExecutionBroker, identity: Identity) -> None:
        self._broker = broker
        self._identity = identity
        self._begun = False

    @property
    def execution_id(self) -> str:
        return self._broker.grant.execution_id

    async def call(
        self,
        name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout_ms: int | None = None,
    ) -> CallResult:
        """Make one call; `request_id` is its id in the records, once in an execution.

        Raises ConfigurationError for arguments that no request can have.
        """
        wanted = function_call(
            self._identity,
            request_id or new_id(),
            name,
            payload,
            timeout_ms=timeout_ms,
            idempotency_key=None,
        )
        return await self.make(wanted)

    async def make(self, call: FunctionCall) -> CallResult:
        """The call ends with its own timeout or with the wall limit, whichever is shorter."""
        broker, request = self._broker, call.request
        wall_ms, handed_out = broker.grant.limits.wall_ms, len(broker.artifacts.artifacts)
        if request.timeout_ms is None or request.timeout_ms > wall_ms:
            request = msgspec.structs.replace(request, timeout_ms=wall_ms)
        if call.is_large:
            request = await run_in_runtime_thread(
                call.identity.principal, broker.grant.execution_id, broker.prepare, request
            )
        if not self._begun:
            self._begun = True
            broker.begin()
        return await _result(broker, call, await broker.answer(request), handed_out)


@contextmanager
def open_channel(
    services: BrokerServices,
    active: ActiveExecutions,
    grant: Grant,
    identity: Identity,
    *,
    keys: IdempotencyCache | None = None,
    on_decision: Callable[[DecisionSummary], None] | None = None,
) -> Iterator[CallChannel]:
    """A channel for calls under `grant`. Its block is left early if the runtime is closed."""
    span = services.tracing.execution(
        grant.execution_id, grant.policy_id, grant.policy_sha256, identity
    )
    with span, active.cancellable():
        broker = ExecutionBroker(
            services, grant, identity, span, keys=keys, on_decision=on_decision
        )
        services.live.add(broker)  # it can be revoked from now on
        try:
            yield CallChannel(broker, identity)
        finally:
            services.live.remove(broker)
            services.approvals.forget(broker.channel_id)


async def run_call(
    services: BrokerServices, active: ActiveExecutions, grant: Grant, call: FunctionCall
) -> CallResult:
    """Make one call under `grant`.

    Raises ConfigurationError if the runtime is closed meanwhile, and LimitExceededError if too many
    idempotency keys of this caller are kept.
    """
    result = None
    with (
        _keys(services, call) as keys,
        open_channel(services, active, grant, call.identity, keys=keys) as channel,
    ):
        result = await channel.make(call)
    if result is None:
        raise ConfigurationError(
            "the runtime was closed during the call; the audit log says whether it had begun"
        )
    return result


def _keys(
    services: BrokerServices, call: FunctionCall
) -> AbstractContextManager[IdempotencyCache | None]:
    if call.request.idempotency_key is None:
        return nullcontext()
    return services.caller_keys.held(call.identity.principal, call.identity.session)


async def _result(
    broker: ExecutionBroker, call: FunctionCall, response: CallResponse, handed_out: int
) -> CallResult:
    value, error = response.result, None
    if response.failure is not None:
        failure = response.failure
        error = failure_of_host(CALL_ERRORS[failure.code](failure.message, **failure.details))
    elif isinstance(value, msgspec.Raw):
        value = await _decoded(broker, call, value)
    request_id, decisions = call.request.request_id, broker.evidence.decisions
    return CallResult(
        execution_id=broker.grant.execution_id,
        request_id=request_id,
        capability=call.request.capability,
        value=value,
        error=error,
        decision=next((each for each in decisions if each.request_id == request_id), None),
        artifacts=tuple(broker.artifacts.artifacts[handed_out:]),
    )


async def _decoded(broker: ExecutionBroker, call: FunctionCall, value: msgspec.Raw) -> Any:
    if len(memoryview(value)) <= LARGE_BYTES:
        return msgspec.msgpack.decode(value)
    return await run_in_runtime_thread(
        call.identity.principal, broker.grant.execution_id, msgspec.msgpack.decode, value
    )
