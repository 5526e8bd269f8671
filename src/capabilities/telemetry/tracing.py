"""(8) Spans and instruments of OpenTelemetry, named by its conventions for generative AI.

An execution is a span `execution`; its parent is whatever span its caller is in. Each capability
call, refused ones included, is a span `execute_tool <capability>` below it, and one value of the
histogram `gen_ai.execute_tool.duration`. While a provider works its call's span is the current one.

The trace context crosses the channel without being on it: a request belongs to the execution whose
channel it came through, as with everything else that the broker knows of it. So calls that run side
by side have the right parent, and there is nothing by which a worker could choose a trace.

Neither arguments nor results nor texts of errors are on spans. Who opts in gets the arguments as
the audit log has them: what the capability's spec shows, and keyed digests of everything else.
"""

from __future__ import annotations

import os
from contextvars import Token
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import metrics as otel_metrics
from opentelemetry import trace

from caps.capabilities.identity import Identity
from caps.capabilities.telemetry.release import release
from caps.protocol.errors import ConfigurationError

SCOPE: Final = "caps"
CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

# The conventions' own names and bounds: semantic-conventions-genai, gen-ai-spans and -metrics.
OPERATION: Final = "gen_ai.operation.name"
EXECUTE_TOOL: Final = "execute_tool"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
ERROR_TYPE: Final = "error.type"
FUNCTION: Final = "function"
OPERATION_SECONDS: Final = (
    *(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64),
    *(1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92),
)

_CAPTURED: Final = {"true": True, "span_only": True, "span_and_event": True}
_NOT_CAPTURED: Final = {"": False, "false": False, "no_content": False, "event_only": False}


class Tracing:
    """The tracer and the instruments of one runtime. Without a provider all of it does nothing."""

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: otel_metrics.MeterProvider | None = None,
        *,
        capture: bool | None = None,
    ) -> None:
        """From the given providers, or the global ones; `capture` stands in for the variable.

        Raises ConfigurationError if the variable says neither yes nor no.
        """
        self.capture = _capture_wanted() if capture is None else capture
        self.tracer = trace.get_tracer(SCOPE, release(), tracer_provider)
        meter = otel_metrics.get_meter(SCOPE, release(), meter_provider)
        self.tool_seconds = meter.create_histogram(
            "gen_ai.execute_tool.duration",
            unit="s",
            description="The duration of a single tool execution.",
            explicit_bucket_boundaries_advisory=OPERATION_SECONDS,
        )

    def execution(
        self, execution_id: str, policy_id: str, policy_sha256: str, identity: Identity
    ) -> ExecutionSpan:
        """The span of one execution, current within; ended with whatever `settle` was told."""
        attributes = {
            "caps.execution_id": execution_id,
            "caps.policy": policy_id,
            "caps.policy_sha256": policy_sha256,
        }
        if identity.agent is not None:
            attributes[AGENT_NAME] = identity.agent
        if identity.session is not None:
            attributes[CONVERSATION] = identity.session
        span = self.tracer.start_span("execution", attributes=attributes)
        return ExecutionSpan(self, span, identity.agent)


class ExecutionSpan:
    """The span that the calls of one execution belong to; `with` makes it current, and ends it.

    Without a tracer and an incoming trace it is nothing, and to enter it costs nothing.
    """

    def __init__(self, tracing: Tracing, span: trace.Span, agent: str | None) -> None:
        self.tracing = tracing
        self.agent = agent
        self.traced = span.get_span_context().is_valid
        """False: there is no tracer and no incoming trace, so that no call needs a span."""
        self.ids = ids_of(span) if self.traced else {}
        """What records say, so that a reviewer finds the trace; nothing if there is none."""
        self._span = span
        self._context = trace.set_span_in_context(span) if self.traced else None
        self._token: Token[otel_context.Context] | None = None

    def __enter__(self) -> ExecutionSpan:
        if self._context is not None:
            self._token = otel_context.attach(self._context)
        return self

    def __exit__(self, *_: object) -> None:
        # What was raised is not told here: the texts of errors are for the result and the audit.
        if self._token is not None:
            otel_context.detach(self._token)
            self._span.end()

    def settle(self, status: str, error_code: str | None) -> None:
        """How the execution ended."""
        if not self.traced:
            return
        self._span.set_attribute("caps.outcome", status)
        if status != "ok":
            fail_span(self._span, error_code or status, status)

    def call(self, name: str, attributes: dict[str, str]) -> trace.Span:
        """A span of a call, not yet current; its parent is this one."""
        return self.tracing.tracer.start_span(
            f"{EXECUTE_TOOL} {name}", context=self._context, attributes=attributes
        )


def ids_of(span: trace.Span) -> dict[str, str]:
    """The ids of a span as records have them."""
    context = span.get_span_context()
    if not context.is_valid:
        return {}
    return {
        "trace_id": trace.format_trace_id(context.trace_id),
        "span_id": trace.format_span_id(context.span_id),
    }


def fail_span(span: trace.Span, error_type: str, description: str) -> None:
    """Mark a span as failed; both are codes of ours and never a text."""
    span.set_attribute(ERROR_TYPE, error_type)
    span.set_status(trace.StatusCode.ERROR, description)


def attached(span: trace.Span) -> Token[otel_context.Context]:
    """Make `span` the current one, until `detach`."""
    return otel_context.attach(trace.set_span_in_context(span))


detach = otel_context.detach


def _capture_wanted() -> bool:
    text = os.environ.get(CAPTURE_VARIABLE, "")
    known = {**_CAPTURED, **_NOT_CAPTURED}.get(text.strip().lower())
    if known is None:
        raise ConfigurationError(
            f"{CAPTURE_VARIABLE} is `{text}`; set `SPAN_ONLY` or `true` to have redacted arguments "
            "on spans, else `NO_CONTENT` or `false`"
        )
    return known
