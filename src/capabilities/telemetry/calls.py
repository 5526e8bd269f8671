"""(8) Telemetry of one call: what was decided, how it ended, how long it took.

The broker begins an observation when a request arrives and finishes it when the request is answered
or its execution ends, on every path; counts, duration and span come only from here, so that they
agree. Without a tracer a call has no span and no cost for one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from caps.capabilities.grant import BoundCapability
from caps.capabilities.telemetry.conventions import (
    AGENT_NAME,
    ERROR_TYPE,
    EXECUTE_TOOL,
    FUNCTION,
    OPERATION,
    TOOL_ARGUMENTS,
    TOOL_CALL_ID,
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_RESULT,
    TOOL_TYPE,
)
from caps.capabilities.telemetry.metrics import UNREGISTERED, Metrics
from caps.capabilities.telemetry.tracing import ExecutionSpan
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.records import CallStatus, DecisionMade
from caps.security.audit.model.redaction import Redactor
from caps.security.reasons import ReasonCode
from caps.worker.host.supervisor.interface import CallResponse

if TYPE_CHECKING:
    from caps.capabilities.telemetry.spans import CallSpan

# The reason of a call before it is decided, and its status before it has ended.
_UNDECIDED: Final = ReasonCode.INTERNAL_ERROR.value
_NOT_ENDED: Final = CallStatus.CANCELLED.value
_NO_IDS: Final[Mapping[str, str]] = {}


class CallTelemetry:
    """The calls of one execution. Only the registered names in `terms` become labels."""

    def __init__(
        self,
        metrics: Metrics,
        span: ExecutionSpan,
        terms: Mapping[str, BoundCapability],
        redactor: Redactor,
    ) -> None:
        self.metrics = metrics
        self.span = span
        self.redactor = redactor
        self._terms = terms
        self._attributes: dict[tuple[str, str | None], dict[str, str]] = {}

    def begin(self, request: CapabilityRequestMessage) -> CallObservation:
        """A request has arrived; `finish` must follow, whatever happens to it."""
        terms = self._terms.get(request.capability)
        call = CallObservation(self, request, UNREGISTERED if terms is None else terms.name)
        if self.span.traced:
            call.open_span(terms)
        return call

    def waits(self, requests: int) -> None:
        """Count n requests that wait for their answer; `waited` must follow in any case."""
        self.metrics.requests_in_flight.add(requests)

    def waited(self, requests: int) -> None:
        self.metrics.requests_in_flight.add(-requests)

    def count_allowed(self, label: str, calls: int, seconds: float, size: int) -> None:
        """Calls of a registered capability were allowed and gave results, and had no span.

        Each took `seconds`; `size` is that of all results.
        """
        self.metrics.allowed_calls.put((label, calls, seconds, size))
        if self.span.timed:
            for _ in range(calls):
                self.span.record(seconds, self.attributes(label, None))

    def attributes(self, label: str, error: str | None) -> dict[str, str]:
        """The attributes of a value of the duration, cached: there are only a few of them."""
        found = self._attributes.get((label, error))
        if found is None:
            found = {TOOL_NAME: label, TOOL_TYPE: FUNCTION}
            if self.span.agent is not None:
                found[AGENT_NAME] = self.span.agent
            if error is not None:
                found[ERROR_TYPE] = error
            self._attributes[(label, error)] = found
        return found


class CallObservation:
    """One call, from its arrival to its answer. Mutable; only the task of the call uses it."""

    __slots__ = (
        "_began",
        "_bytes",
        "_calls",
        "_decision",
        "_reason",
        "_request",
        "_span",
        "_status",
        "ids",
        "label",
    )

    def __init__(self, calls: CallTelemetry, request: CapabilityRequestMessage, label: str) -> None:
        self.label = label
        self._calls = calls
        self._request = request
        self._began = time.perf_counter()
        self._decision: Literal["allow", "deny"] = "deny"
        self._reason = _UNDECIDED
        self._status = _NOT_ENDED
        self._bytes = 0
        self._span: CallSpan | None = None
        self.ids = _NO_IDS
        """The ids of its span for the records of this call; empty if it has none."""

    def open_span(self, terms: BoundCapability | None) -> None:
        """Start the span of this call, current from now on in the task that answers it."""
        attributes = {
            OPERATION: EXECUTE_TOOL,
            TOOL_NAME: self.label,
            TOOL_TYPE: FUNCTION,
            TOOL_CALL_ID: self._request.request_id,
        }
        if terms is not None and terms.spec.description:
            attributes[TOOL_DESCRIPTION] = terms.spec.description
        if self._calls.span.agent is not None:
            attributes[AGENT_NAME] = self._calls.span.agent
        self._span = self._calls.span.call(self.label, attributes)
        self.ids = self._span.ids

    def decided(self, record: DecisionMade) -> None:
        """Set the decision, as in the record that is about to be written."""
        self._decision = record.decision
        self._reason = record.reason
        span = self._span
        if span is not None and span.is_recording:
            span.set("caps.decision", self._decision)
            span.set("caps.reason_code", self._reason)
            if self._calls.span.capture:
                arguments = {**record.shown, **record.hidden}
                span.set(TOOL_ARGUMENTS, msgspec.json.encode(arguments).decode())

    def ended(self, status: str, reason: str | None = None, bytes_out: int = 0) -> None:
        """Set how it ended; `reason` is why it was denied after it was allowed."""
        self._status = status
        self._reason = reason or self._reason
        self._bytes = bytes_out

    def finish(self, answer: CallResponse | None) -> None:
        """It was answered, or its execution has ended and there is no answer."""
        calls, metrics = self._calls, self._calls.metrics
        seconds = time.perf_counter() - self._began
        label = self.label
        metrics.requests.add((label, self._decision, self._reason, self._status))
        metrics.request_seconds.observe((label,), seconds)
        if self._bytes:
            metrics.result_bytes.add((label,), self._bytes)
        if calls.span.timed:
            error = self._error(answer)
            calls.span.record(seconds, calls.attributes(label, error))
            if self._span is not None:
                self._end_span(self._span, error, answer)

    def _error(self, answer: CallResponse | None) -> str | None:
        """The code that user space got, from a closed set."""
        if answer is None:
            return self._status
        return None if answer.failure is None else answer.failure.code

    def _end_span(self, span: CallSpan, error: str | None, answer: CallResponse | None) -> None:
        span.leave()
        span.set("caps.outcome", self._status)
        span.set("caps.reason_code", self._reason)
        if error is None and answer is not None and self._calls.span.capture and span.is_recording:
            # No part of a result is declared as safe to show: the whole result is one digest.
            result = answer.result
            plain = msgspec.msgpack.decode(result) if isinstance(result, msgspec.Raw) else result
            span.set(TOOL_RESULT, self._calls.redactor.digest(plain))
        span.end(error, self._status)
