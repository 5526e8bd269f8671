"""(8) The spans of executions and calls, if OpenTelemetry is loaded; `tracing` decides when.

An execution is a span `execution`; its parent is the current span of its caller. Each capability
call, refused ones included, is a child span `execute_tool <capability>` and one value of the
histogram `gen_ai.execute_tool.duration`. While a provider runs, the span of its call is current.
A run of an agent is a span `invoke_agent <name>` around its executions and calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token

from opentelemetry import context as otel_context
from opentelemetry import metrics as otel_metrics
from opentelemetry import trace

from caps.capabilities.telemetry.conventions import (
    AGENT_ID,
    AGENT_NAME,
    CONVERSATION,
    ERROR_TYPE,
    EXECUTE_TOOL,
    INVOKE_AGENT,
    OPERATION,
    OPERATION_SECONDS,
    SCOPE,
)
from caps.capabilities.telemetry.tracing import ExecutionSpan
from caps.protocol.version import package_version


class Instruments:
    """The tracer and the histogram of one runtime. Without a provider both do nothing."""

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None,
        meter_provider: otel_metrics.MeterProvider | None,
    ) -> None:
        """From the given providers, or the global ones."""
        self.tracer = trace.get_tracer(SCOPE, package_version(), tracer_provider)
        meter = otel_metrics.get_meter(SCOPE, package_version(), meter_provider)
        self.tool_seconds = meter.create_histogram(
            "gen_ai.execute_tool.duration",
            unit="s",
            description="The duration of a single tool execution.",
            explicit_bucket_boundaries_advisory=OPERATION_SECONDS,
        )


class ObservedSpan(ExecutionSpan):
    """The span of an execution; only the histogram if there is no tracer and no incoming trace."""

    timed = True

    def __init__(
        self, instruments: Instruments, attributes: dict[str, str], agent: str | None, capture: bool
    ) -> None:
        super().__init__(agent, capture)
        self._instruments = instruments
        self._span = span = instruments.tracer.start_span("execution", attributes=attributes)
        self.traced = span.get_span_context().is_valid
        self.ids = _ids_of(span) if self.traced else {}
        self._context = trace.set_span_in_context(span) if self.traced else None
        self._token: Token[otel_context.Context] | None = None

    def __enter__(self) -> ObservedSpan:
        if self._context is not None:
            self._token = otel_context.attach(self._context)
        return self

    def __exit__(self, *_: object) -> None:
        # The exception is not recorded: texts of errors belong in the result and the audit log.
        if self._token is not None:
            otel_context.detach(self._token)
            self._span.end()

    def settle(self, status: str, error_code: str | None) -> None:
        if not self.traced:
            return
        self._span.set_attribute("caps.outcome", status)
        if status != "ok":
            fail_span(self._span, error_code or status, status)

    def call(self, name: str, attributes: dict[str, str]) -> CallSpan:
        return CallSpan(
            self._instruments.tracer.start_span(
                f"{EXECUTE_TOOL} {name}", context=self._context, attributes=attributes
            )
        )

    def record(self, seconds: float, attributes: dict[str, str]) -> None:
        self._instruments.tool_seconds.record(seconds, attributes)


class CallSpan:
    """The span of one call, current from its creation to `leave` in the task that answers it."""

    def __init__(self, span: trace.Span) -> None:
        self.ids = _ids_of(span)
        self._span = span
        self._token = otel_context.attach(trace.set_span_in_context(span))

    @property
    def is_recording(self) -> bool:
        """False: attributes are not exported."""
        return self._span.is_recording()

    def set(self, name: str, value: str) -> None:
        self._span.set_attribute(name, value)

    def leave(self) -> None:
        """It is no longer current; attributes can still be set until `end`."""
        otel_context.detach(self._token)

    def end(self, error: str | None, status: str) -> None:
        if error is not None:
            fail_span(self._span, error, status)
        self._span.end()


@contextmanager
def agent_span(
    instruments: Instruments, name: str, agent: str, session: str
) -> Iterator[dict[str, str]]:
    """The span of one run of an agent, current inside; gives its ids for audit records."""
    attributes = {
        OPERATION: INVOKE_AGENT,
        AGENT_NAME: name,
        AGENT_ID: agent,
        CONVERSATION: session,
    }
    span = instruments.tracer.start_span(f"{INVOKE_AGENT} {name}", attributes=attributes)
    token = otel_context.attach(trace.set_span_in_context(span))
    try:
        yield _ids_of(span)
    finally:
        otel_context.detach(token)
        span.end()


def fail_span(span: trace.Span, error_type: str, description: str) -> None:
    """Mark a span as failed; both arguments are known codes and never the text of an error."""
    span.set_attribute(ERROR_TYPE, error_type)
    span.set_status(trace.StatusCode.ERROR, description)


def _ids_of(span: trace.Span) -> dict[str, str]:
    """The ids of a span for audit records; empty if it has none."""
    context = span.get_span_context()
    if not context.is_valid:
        return {}
    return {
        "trace_id": trace.format_trace_id(context.trace_id),
        "span_id": trace.format_span_id(context.span_id),
    }
