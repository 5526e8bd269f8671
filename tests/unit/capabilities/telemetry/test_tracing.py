"""Metrics and spans of whole executions, with real workers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from prometheus_client import REGISTRY, CollectorRegistry

from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.runtime import Runtime
from caps.capabilities.telemetry import Metrics, default_metrics
from caps.protocol.errors import PolicyInvalidError
from caps.security.audit import MemoryAuditLog
from caps.security.audit.model.records import ExecutionStatus
from caps.security.policies.load import load_policy
from caps.worker.host.zygote.source import ZygoteSource
from support.command_workers import CommandWorkerSource

pytestmark = pytest.mark.anyio

# Says that it is ready, as a worker does, and garbage as soon as it gets code.
HOSTILE_WORKER = """
import os, struct
from caps.protocol.connection import WorkerConnection
from caps.protocol.messages import PROTOCOL_VERSION, ReadyMessage
c = WorkerConnection()
os.write(0, c.send(ReadyMessage(protocol=PROTOCOL_VERSION, python="3", **c.stamp())))
os.read(0, 1 << 16)
os.write(0, struct.pack(">I", 4) + b"\\xc1\\xc1\\xc1\\xc1")
os.read(0, 1 << 16)
"""

POLICY_OF_NOTHING: dict[str, Any] = {}
POLICY = {"id": "watched", "allow": ["box.echo"], "limits": {"cpu_ms": 1000}}
POLICY_SHA256 = load_policy(POLICY).policy.sha256


def test_the_metrics_have_the_names_that_the_specification_gives() -> None:
    """And no other labels than these."""
    samples = CollectorRegistry()
    metrics = Metrics(samples)
    metrics.count_injected(["files.read"])
    metrics.denied.add(("files.read", "not_allowed"))
    injected = {"capability": "files.read"}
    denied = {"capability": "files.read", "reason": "not_allowed"}
    assert samples.get_sample_value("capability_injected_total", injected) == 1
    assert samples.get_sample_value("policy_denied_total", denied) == 1


def test_the_default_metrics_are_made_once_in_the_global_registry() -> None:
    """Two runtimes in one process count together."""
    assert default_metrics() is default_metrics()
    assert REGISTRY.get_sample_value("caps_workers_alive") is not None


@dataclass
class Watched:
    """The setup of a runtime, kept for inspection."""

    samples: CollectorRegistry = field(default_factory=CollectorRegistry)
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)

    async def run(self, *sources: str) -> list[ExecutionResult]:
        """Run sources under a policy that grants `box.echo` and withholds `box.keep`."""
        registry = CapabilityRegistry()

        @registry.capability("box.echo")
        async def echo(word: str) -> str:
            return word

        @registry.capability("box.keep")
        async def keep() -> None: ...

        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        async with Runtime(
            POLICY,
            registry=registry,
            audit=MemoryAuditLog(),
            metrics=Metrics(self.samples),
            tracer_provider=provider,
        ) as runtime:
            return [await runtime.run(source) for source in sources]

    def count(self, name: str, **labels: str) -> float:
        return self.samples.get_sample_value(name, labels) or 0.0

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.mark.process
async def test_every_granted_capability_counts_as_injected_in_every_execution(
    watched: Watched,
) -> None:
    """What is withheld does not count."""
    await watched.run("1", "2")
    assert watched.count("capability_injected_total", capability="box.echo") == 2
    assert watched.count("capability_injected_total", capability="box.keep") == 0


@pytest.mark.process
async def test_executions_are_counted_by_how_they_ended(watched: Watched) -> None:
    """And no worker is left when they are over."""
    await watched.run("1", "1 / 0", "caps.box.keep")
    assert watched.count("caps_executions_total", status="ok") == 1
    assert watched.count("caps_executions_total", status="code_failed") == 1
    assert watched.count("caps_executions_total", status="policy_refused") == 1
    assert watched.count("caps_execution_duration_seconds_count") == 3
    assert watched.count("caps_workers_alive") == 0


@pytest.mark.process
async def test_an_execution_is_a_span_with_a_child_for_every_call(watched: Watched) -> None:
    """They share a trace, and the execution's id is on it."""
    source = "[await caps.box.echo(word=w) for w in 'ab']"
    (result,) = await watched.run(source)
    assert result.value == ["a", "b"]
    (execution,) = watched.spans("execution")
    calls = watched.spans("execute_tool box.echo")
    assert len(calls) == 2
    context = execution.get_span_context()
    assert context is not None
    for call in calls:
        assert call.parent is not None
        assert call.parent.span_id == context.span_id
    assert execution.attributes == {
        "caps.execution_id": result.execution_id,
        "caps.policy": "watched",
        "caps.policy_sha256": POLICY_SHA256,
        "caps.outcome": "ok",
    }
    assert execution.status.status_code is StatusCode.UNSET


@pytest.mark.process
async def test_a_failed_execution_is_an_error_without_its_text(watched: Watched) -> None:
    """The text of the code's error is only in the result and the audit log."""
    await watched.run("raise ValueError('hunter2')")
    (execution,) = watched.spans("execution")
    assert execution.status.status_code is StatusCode.ERROR
    assert execution.status.description == "code_failed"
    assert "hunter2" not in execution.to_json()


@pytest.mark.process
async def test_limits_and_bytes_are_counted_where_they_are_reached(watched: Watched) -> None:
    """By the limit that killed the code."""
    await watched.run("print('x' * 100)", "while True: pass")
    assert watched.count("caps_limits_reached_total", limit="cpu_ms") == 1
    assert watched.count("caps_executions_total", status="limit") == 1
    assert watched.count("caps_execution_output_bytes_total") == 101
    assert watched.count("caps_execution_cpu_seconds_total") > 0
    assert watched.count("caps_executions_in_flight") == 0


@pytest.mark.process
async def test_spares_and_starts_are_counted_and_the_stock_ends_with_the_runtime() -> None:
    """While it is open the metrics say what is ready; two runtimes add up."""
    samples = CollectorRegistry()
    async with (
        Runtime(POLICY_OF_NOTHING, audit=MemoryAuditLog(), metrics=samples) as one,
        Runtime(POLICY_OF_NOTHING, audit=MemoryAuditLog(), metrics=samples) as other,
    ):
        assert (await one.run("1")).ok
        assert (await other.run("1")).ok
        wanted = samples.get_sample_value("caps_spare_workers_wanted") or 0
        assert wanted >= 4
        layers = {"layer": "seccomp", "enforcement": "fully"}
        assert samples.get_sample_value("caps_isolation_layers", layers) == 2
        assert samples.get_sample_value("caps_zygote_starts_total") == 2
    assert samples.get_sample_value("caps_spare_workers_ready") == 0
    assert samples.get_sample_value("caps_spare_workers_wanted") == 0
    assert samples.get_sample_value("caps_isolation_layers", layers) is None
    assert (samples.get_sample_value("caps_worker_start_duration_seconds_count") or 0) >= 2
    assert samples.get_sample_value("caps_executions_total", {"status": "ok"}) == 2
    assert samples.get_sample_value("caps_policy_loads_total", {"outcome": "accepted"}) == 2


@pytest.mark.process
async def test_a_zygote_that_takes_the_place_of_another_is_a_restart() -> None:
    """The first of a runtime is none, also when the runtime is opened again."""
    starts: list[bool] = []
    source = ZygoteSource(on_start=starts.append)
    for _ in range(2):
        async with source.open():
            assert source._zygote is not None
            dead = source._zygote
            dead.end()
            with anyio.fail_after(30):
                while dead.is_alive:
                    await anyio.lowlevel.checkpoint()
                worker = await source.start()
            worker.kill()
            await worker.ended()
            worker.transport.close()
    assert starts == [False, True, False, True]


async def test_a_policy_that_is_refused_is_counted() -> None:
    """It is recorded, too."""
    samples = CollectorRegistry()
    with pytest.raises(PolicyInvalidError):
        async with Runtime({"allow": ["no.such"]}, audit=MemoryAuditLog(), metrics=samples):
            pass
    assert samples.get_sample_value("caps_policy_loads_total", {"outcome": "refused"}) == 1
    assert samples.get_sample_value("caps_policy_loads_total", {"outcome": "accepted"}) == 0


@pytest.mark.process
async def test_a_worker_that_breaks_the_protocol_is_counted() -> None:
    """By the broken rule."""
    samples = CollectorRegistry()
    workers = CommandWorkerSource((sys.executable, "-I", "-c", HOSTILE_WORKER))
    async with Runtime(
        POLICY_OF_NOTHING,
        audit=MemoryAuditLog(),
        metrics=samples,
        workers=workers,
        isolation="best-effort",
    ) as runtime:
        result = await runtime.run("1")
    assert result.status is ExecutionStatus.PROTOCOL_VIOLATION
    counted = {
        sample.labels["violation"]: sample.value
        for family in samples.collect()
        for sample in family.samples
        if sample.name == "caps_protocol_violations_total" and sample.value
    }
    assert counted == {"garbage": 1}
