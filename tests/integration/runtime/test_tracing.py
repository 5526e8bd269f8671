"""Spans of whole executions with real workers: parents, names, and what is not on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from prometheus_client import CollectorRegistry

from caps.capabilities.provider import CallContext
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.runtime import Runtime
from caps.capabilities.runtime.stream import Finished
from caps.capabilities.spec import CapabilitySpec
from caps.capabilities.telemetry.mcp import TOOL_ERROR, McpTelemetry
from caps.protocol.errors import ConfigurationError
from caps.security.audit import MemoryAuditLog
from caps.security.audit.model.records import DecisionMade, ExecutionStarted, OutcomeRecorded

pytestmark = pytest.mark.anyio

SECRET = "hunter2"
ECHO = "await caps.box.echo(word='a')"
VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def _break(context: CallContext, payload: Any) -> None:
    raise KeyError(SECRET)


@dataclass
class Traced:
    """The setup of a runtime, with a tracer and a meter that keep what is recorded."""

    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    registry: CapabilityRegistry = field(default_factory=CapabilityRegistry)
    provider: TracerProvider = field(default_factory=TracerProvider)

    def __post_init__(self) -> None:
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)

        async def echo(context: CallContext, payload: Any) -> Any:
            with self.provider.get_tracer("box").start_as_current_span("work in the box"):
                return payload.get("word")

        words = {"type": "object", "properties": {"word": {"type": "string"}}}
        said = "Says it again."
        spec = CapabilitySpec(name="box.echo", description=said, schema_in=words, shown=("word",))
        self.registry.register(spec, echo)
        self.registry.register(CapabilitySpec(name="box.fail"), _break)
        self.registry.register(CapabilitySpec(name="box.keep"), lambda context, payload: None)

    def runtime(self, **more: Any) -> Runtime:
        policy = {"id": "traced", "allow": ["box.*"], "deny": ["box.keep"]}
        given: dict[str, Any] = {
            "registry": self.registry,
            "audit": self.audit,
            "metrics": CollectorRegistry(),
            "tracer_provider": self.provider,
            "meter_provider": self.meters,
        }
        return Runtime(policy, **{**given, **more})

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def span(self, name: str) -> ReadableSpan:
        (found,) = self.spans(name)
        return found

    def points(self, name: str) -> Sequence[HistogramDataPoint]:
        data = self.reader.get_metrics_data()
        assert data is not None
        (metric,) = (
            metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        )
        assert metric.unit == "s"
        return list(metric.data.data_points)  # type: ignore[arg-type]


@pytest.fixture
def traced() -> Traced:
    return Traced()


def ids(span: ReadableSpan) -> tuple[str, str]:
    context = span.get_span_context()
    assert context is not None
    return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)


def is_below(child: ReadableSpan, parent: ReadableSpan) -> bool:
    context = parent.get_span_context()
    assert context is not None
    return (
        child.parent is not None
        and child.parent.span_id == context.span_id
        and child.parent.trace_id == context.trace_id
    )


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


class TestParents:
    async def test_the_span_of_the_caller_is_above_all(self, traced: Traced) -> None:
        """Of `run`, `stream` and the runs of a session alike."""
        tracer = traced.provider.get_tracer("embedder")
        async with traced.runtime() as runtime:
            with tracer.start_as_current_span("embedder"):
                await runtime.run("1")
                async for event in runtime.stream("2"):
                    last = event
                async with runtime.session() as session:
                    await session.run("3")
        assert isinstance(last, Finished)
        executions = traced.spans("execution")
        assert len(executions) == 3
        assert all(is_below(execution, traced.span("embedder")) for execution in executions)

    def test_also_of_a_caller_without_an_event_loop(self, traced: Traced) -> None:
        """The context is passed to the thread of the loop."""
        tracer = traced.provider.get_tracer("embedder")
        with traced.runtime() as runtime, tracer.start_as_current_span("embedder"):
            runtime.run_sync(ECHO)
        assert is_below(traced.span("execution"), traced.span("embedder"))
        assert is_below(traced.span("execute_tool box.echo"), traced.span("execution"))

    async def test_calls_side_by_side_are_below_their_own_execution(self, traced: Traced) -> None:
        """Also when executions run at the same time."""
        source = (
            "import asyncio\n"
            "await asyncio.gather(*(caps.box.echo(word={word!r} + str(n)) for n in range(5)))"
        )
        async with (
            traced.runtime(capture_arguments=True) as runtime,
            anyio.create_task_group() as g,
        ):
            for word in "abc":
                g.start_soon(runtime.run, source.format(word=word))
        executions = {ids(execution)[1]: execution for execution in traced.spans("execution")}
        assert len(executions) == 3
        words_by_parent: dict[str, set[str]] = {}
        for call in traced.spans("execute_tool box.echo"):
            assert call.parent is not None
            parent = trace.format_span_id(call.parent.span_id)
            assert is_below(call, executions[parent])
            word = json.loads(attributes(call)["gen_ai.tool.call.arguments"])["word"]
            words_by_parent.setdefault(parent, set()).add(word)
        assert sorted(map(sorted, words_by_parent.values())) == [
            [word + str(n) for n in range(5)] for word in "abc"
        ]

    async def test_what_a_provider_does_is_below_its_call(self, traced: Traced) -> None:
        """Its own spans, and what it runs in turn."""
        async with traced.runtime() as runtime:

            async def nest(context: CallContext, payload: Any) -> None:
                await runtime.run("1")

            traced.registry.register(CapabilitySpec(name="box.nest"), nest)
            bound = await runtime.bind({"allow": ["box.*"]}, replace=True)
            source = ECHO + "\nawait caps.box.nest()"
            await runtime.run(source, policy=bound, replace=True)
        call = traced.span("execute_tool box.echo")
        assert is_below(traced.span("work in the box"), call)
        inner, outer = traced.spans("execution")
        assert is_below(inner, traced.span("execute_tool box.nest"))
        assert is_below(call, outer)

    async def test_the_span_of_a_call_does_not_outlive_it(self, traced: Traced) -> None:
        """A call after it is its sibling and not its child."""
        async with traced.runtime() as runtime:
            await runtime.run(f"{ECHO}\n{ECHO}")
        for call in traced.spans("execute_tool box.echo"):
            assert is_below(call, traced.span("execution"))


class TestConventions:
    async def test_a_call_is_the_execution_of_a_tool(self, traced: Traced) -> None:
        """With the attribute names of the conventions."""
        async with traced.runtime() as runtime:
            await runtime.run(ECHO, agent="helper")
        call = traced.span("execute_tool box.echo")
        (decision,) = (event for event in traced.audit.events if isinstance(event, DecisionMade))
        assert call.kind is SpanKind.INTERNAL
        assert call.status.status_code is StatusCode.UNSET
        assert attributes(call) == {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "box.echo",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": "Says it again.",
            "gen_ai.tool.call.id": decision.request_id,
            "gen_ai.agent.name": "helper",
            "caps.decision": "allow",
            "caps.reason_code": "allowed",
            "caps.outcome": "ok",
        }

    async def test_a_session_is_a_conversation(self, traced: Traced) -> None:
        """Its runs can be found by it."""
        async with traced.runtime() as runtime, runtime.session(session="s-1") as session:
            await session.run("1")
        assert attributes(traced.span("execution"))["gen_ai.conversation.id"] == "s-1"

    @pytest.mark.parametrize(
        ("call", "error", "outcome", "reason"),
        [
            ("box.keep()", "policy_denied", "denied", "denied_by_rule"),
            ("box.fail()", "provider_error", "provider_error", "allowed"),
        ],
    )
    async def test_a_failed_call_is_an_error_with_its_code(
        self, traced: Traced, call: str, error: str, outcome: str, reason: str
    ) -> None:
        """Refused ones have a span, too; messages are in the result and the audit log only."""
        async with traced.runtime() as runtime:
            await runtime.learn(f"await caps.{call}")
        span = traced.span(f"execute_tool {call[:-2]}")
        assert span.status.status_code is StatusCode.ERROR
        assert attributes(span)["error.type"] == error
        assert attributes(span)["caps.outcome"] == outcome
        assert attributes(span)["caps.reason_code"] == reason
        assert span.events == ()
        assert SECRET not in "".join(s.to_json() for s in traced.exporter.get_finished_spans())

    async def test_an_execution_that_is_cancelled_says_so(self, traced: Traced) -> None:
        """And its call as well."""
        begun = anyio.Event()

        async def hang(context: CallContext, payload: Any) -> None:
            begun.set()
            await anyio.sleep_forever()

        traced.registry.register(CapabilitySpec(name="box.hang"), hang)
        async with traced.runtime() as runtime, anyio.create_task_group() as group:
            group.start_soon(runtime.run, "await caps.box.hang()")
            await begun.wait()
            group.cancel_scope.cancel()
        for name in ("execution", "execute_tool box.hang"):
            assert attributes(traced.span(name))["error.type"] == "cancelled"

    async def test_every_call_is_a_value_of_the_duration(self, traced: Traced) -> None:
        """By tool, and by error for those that failed."""
        async with traced.runtime() as runtime:
            await runtime.run(f"{ECHO}\n{ECHO}\nawait caps.box.fail()")
        counts = {
            (point.attributes or {})["gen_ai.tool.name"]: (
                point.count,
                (point.attributes or {}).get("error.type"),
            )
            for point in traced.points("gen_ai.execute_tool.duration")
        }
        assert counts == {"box.echo": (2, None), "box.fail": (1, "provider_error")}
        (bounds, *_) = (p.explicit_bounds for p in traced.points("gen_ai.execute_tool.duration"))
        assert tuple(bounds)[:3] == (0.01, 0.02, 0.04)


class TestContent:
    async def test_neither_arguments_nor_results_are_on_spans(self, traced: Traced) -> None:
        """Unless somebody asks for them."""
        async with traced.runtime() as runtime:
            await runtime.run(f"await caps.box.echo(word={SECRET!r})")
        assert SECRET not in "".join(s.to_json() for s in traced.exporter.get_finished_spans())

    @pytest.mark.parametrize("value", ["true", "SPAN_ONLY", "span_and_event"])
    async def test_the_variable_puts_them_there_redacted(
        self, traced: Traced, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        """Shown fields are readable, all else is the digest that the audit log has."""
        monkeypatch.setenv(VARIABLE, value)
        async with traced.runtime() as runtime:
            await runtime.run(f"await caps.box.echo(word='shown', other={SECRET!r})")
        call = attributes(traced.span("execute_tool box.echo"))
        digest = traced.audit.redactor.digest
        assert json.loads(call["gen_ai.tool.call.arguments"]) == {
            "word": "shown",
            "other": digest(SECRET),
        }
        assert call["gen_ai.tool.call.result"] == digest("shown")

    async def test_what_the_variable_cannot_mean_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A misspelt wish is neither yes nor no."""
        monkeypatch.setenv(VARIABLE, "SPANS")
        with pytest.raises(ConfigurationError, match="`SPANS`"):
            Runtime({})


class TestRecords:
    async def test_records_carry_the_ids_of_their_spans(self, traced: Traced) -> None:
        """A reviewer finds the trace from the record, and the record from the trace."""
        async with traced.runtime() as runtime:
            await runtime.run(ECHO)
        found = {
            type(event): (event.trace_id, event.span_id)
            for event in traced.audit.events
            if isinstance(event, ExecutionStarted | DecisionMade | OutcomeRecorded)
        }
        execution, call = traced.span("execution"), traced.span("execute_tool box.echo")
        assert found == {
            ExecutionStarted: ids(execution),
            DecisionMade: ids(call),
            OutcomeRecorded: ids(call),
        }

    async def test_without_a_trace_records_say_nothing_of_one(self, traced: Traced) -> None:
        """And calls have no spans."""
        untraced = {"tracer_provider": trace.NoOpTracerProvider()}
        async with traced.runtime(**untraced) as runtime:
            result = await runtime.run(ECHO)
        assert result.value == "a"
        assert [s.name for s in traced.exporter.get_finished_spans()] == ["work in the box"]
        assert not any(b"trace_id" in line for line in traced.audit.lines)


class TestMcp:
    async def test_a_request_is_above_the_execution_that_it_asks_for(self, traced: Traced) -> None:
        """And below the span of the client that sent it."""
        mcp = McpTelemetry(traced.provider, traced.meters, transport="pipe")
        parent = f"00-{'a' * 32}-{'b' * 16}-01"
        async with traced.runtime() as runtime:
            with mcp.request(
                "tools/call",
                tool="execute_code",
                request_id=7,
                session_id="s",
                meta={"traceparent": parent},
            ):
                await runtime.run("1")
        request = traced.span("tools/call execute_code")
        assert request.kind is SpanKind.SERVER
        assert request.parent is not None
        assert ids(request)[0] == "a" * 32
        assert trace.format_span_id(request.parent.span_id) == "b" * 16
        assert is_below(traced.span("execution"), request)
        assert attributes(request) == {
            "mcp.method.name": "tools/call",
            "mcp.session.id": "s",
            "jsonrpc.request.id": "7",
            "network.transport": "pipe",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "execute_code",
        }

    async def test_the_span_of_the_transport_is_linked(self, traced: Traced) -> None:
        """The client's span is the parent anyway."""
        mcp = McpTelemetry(traced.provider, traced.meters, transport="tcp")
        meta = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
        tracer = traced.provider.get_tracer("http")
        with tracer.start_as_current_span("POST"), mcp.request("ping", meta=meta):
            pass
        (link,) = traced.span("ping").links
        assert trace.format_span_id(link.context.span_id) == ids(traced.span("POST"))[1]

    @pytest.mark.parametrize("text", ["", "00-xyz", 7, None, "0" * 55])
    async def test_what_names_no_trace_is_no_parent(self, traced: Traced, text: Any) -> None:
        """The value comes from another program and is not trusted."""
        mcp = McpTelemetry(traced.provider, traced.meters, transport="pipe")
        with mcp.request("tools/list", meta={"traceparent": text}):
            pass
        assert traced.span("tools/list").parent is None

    async def test_errors_are_reported_by_their_kind(self, traced: Traced) -> None:
        """Of tools, of the protocol, and of ours; an invented method does not become a name."""
        mcp = McpTelemetry(traced.provider, traced.meters, transport="pipe")
        with mcp.request("tools/call", tool="execute_code") as request:
            request.fail(TOOL_ERROR)
        with pytest.raises(ValueError, match=SECRET), mcp.request("made/" + SECRET):
            raise ValueError(SECRET)
        assert attributes(traced.span("tools/call execute_code"))["error.type"] == "tool_error"
        assert attributes(traced.span("_OTHER"))["error.type"] == "_OTHER"
        assert SECRET not in "".join(s.to_json() for s in traced.exporter.get_finished_spans())
        errors = {
            (point.attributes or {}).get("error.type")
            for point in traced.points("mcp.server.operation.duration")
        }
        assert errors == {"tool_error", "_OTHER"}
