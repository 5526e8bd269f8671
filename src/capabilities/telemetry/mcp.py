"""(8) Telemetry of an MCP server's requests, by the conventions for the Model Context Protocol.

A request is a span `<method> <tool>` of kind server and a value of `mcp.server.operation.duration`.
Its parent is the trace context in `params._meta`, which comes from another program: it is parsed
strictly and ignored if it is malformed. The transport's own span, if there is one, is linked.
Everything inside, such as an execution, is a child of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry import metrics as otel_metrics
from opentelemetry import trace

from caps.capabilities.telemetry.conventions import (
    ERROR_TYPE,
    EXECUTE_TOOL,
    OPERATION,
    SCOPE,
    TOOL_NAME,
)
from caps.capabilities.telemetry.spans import fail_span
from caps.capabilities.telemetry.trace_context import parse_traceparent

TOOL_ERROR: Final = "tool_error"
"""The value of `error.type` when a tool answers with `isError`."""

# The closed set of methods that a client may call; any other is counted as `_OTHER`.
_METHODS: Final = frozenset(
    "initialize ping tools/list tools/call resources/list resources/templates/list "
    "resources/read resources/subscribe resources/unsubscribe prompts/list prompts/get "
    "completion/complete logging/setLevel notifications/initialized notifications/cancelled "
    "notifications/progress notifications/roots/list_changed".split()
)
_OTHER_METHOD: Final = "_OTHER"
_SECONDS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class McpRequest:
    """A request that is being answered."""

    def __init__(self) -> None:
        self.error_type: str | None = None

    def fail(self, error_type: str) -> None:
        """Mark it as failed: TOOL_ERROR, or the code of the JSON-RPC error as a string."""
        self.error_type = error_type


class McpTelemetry:
    """Observes the requests that a server answers."""

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: otel_metrics.MeterProvider | None = None,
        *,
        transport: str,
    ) -> None:
        """`transport` is `pipe` for standard input and output, `tcp` for HTTP."""
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._transport = transport
        self._seconds = otel_metrics.get_meter(
            SCOPE, meter_provider=meter_provider
        ).create_histogram(
            "mcp.server.operation.duration",
            unit="s",
            description="From the arrival of an MCP request until its result is sent.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )

    @contextmanager
    def request(
        self,
        method: str,
        *,
        tool: str | None = None,
        request_id: str | int | None = None,
        session_id: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Iterator[McpRequest]:
        """The span of one request, current inside. `tool` is the name of a tool of the server.

        An exception that leaves the context is an error of type `_OTHER`; its text is not recorded.
        """
        name = method if method in _METHODS else _OTHER_METHOD
        common = {"mcp.method.name": name, "network.transport": self._transport}
        if tool is not None:
            common |= {OPERATION: EXECUTE_TOOL, TOOL_NAME: tool}
        attributes = dict(common)
        if request_id is not None:
            attributes["jsonrpc.request.id"] = str(request_id)
        if session_id is not None:
            attributes["mcp.session.id"] = session_id
        context, links = _parent(meta)
        span = self._tracer.start_span(
            f"{name} {tool}" if tool is not None else name,
            context=context,
            kind=trace.SpanKind.SERVER,
            attributes=attributes,
            links=links,
        )
        request, began = McpRequest(), time.perf_counter()
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield request
        except BaseException:
            request.error_type = request.error_type or "_OTHER"
            raise
        finally:
            if request.error_type is not None:
                common[ERROR_TYPE] = request.error_type
                fail_span(span, request.error_type, request.error_type)
            span.end()
            self._seconds.record(time.perf_counter() - began, common)


def _parent(meta: Mapping[str, Any] | None) -> tuple[otel_context.Context | None, list[trace.Link]]:
    """The context sent by the client, with a link to the current span; None: the current one."""
    text = None if meta is None else meta.get("traceparent")
    remote = parse_traceparent(text) if isinstance(text, str) else None
    if remote is None:
        return None, []
    ambient = trace.get_current_span().get_span_context()
    links = [trace.Link(ambient)] if ambient.is_valid else []
    return trace.set_span_in_context(trace.NonRecordingSpan(remote)), links
