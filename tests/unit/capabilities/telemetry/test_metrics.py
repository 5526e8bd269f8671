"""The metrics themselves: documented, bounded, shared by those who share a registry."""

from __future__ import annotations

import ast
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from caps.capabilities.telemetry import OTHER, Metrics
from caps.capabilities.telemetry.observers import MeteredAudit
from caps.protocol.enforcement import Enforcement, Layer
from caps.protocol.errors import AuditError
from caps.security.audit import MemoryAuditLog
from caps.security.audit.model.records import PolicyLoaded
from support.parameter_names import stable_repr

ROOT = Path(__file__).parents[4]
EVENT = PolicyLoaded(policy_id="p", policy_sha256="", source="s", status="accepted")
PAGE = ROOT / "docs" / "telemetry.md"


def documented() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Type and labels of each metric in the page's table."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[1] in {"counter", "gauge", "histogram"}:
            labels = tuple(part.strip(" `") for part in cells[2].split(",") if part != "-")
            found[cells[0].strip("`")] = (cells[1], labels)
    return found


def existing() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Type and labels of each metric that a registry really gets."""
    registry = CollectorRegistry()
    Metrics(registry)
    found = {}
    for collector in registry._collector_to_names:
        for family in collector.describe():  # type: ignore[attr-defined]
            suffix = "_total" if family.type == "counter" else ""
            found[family.name + suffix] = (family.type, tuple(family._labelnames))
    return found


class TestNames:
    def test_the_page_has_every_metric_with_its_type_and_labels(self) -> None:
        """And no other."""
        assert documented() == existing()

    def test_every_metric_is_ours_by_name(self) -> None:
        """Two have the names of the specification, all others our prefix."""
        given = {"capability_injected_total", "policy_denied_total"}
        assert {name for name in existing() if not name.startswith("caps_")} == given

    def test_what_has_a_unit_says_it(self) -> None:
        """Histograms are of seconds, and counts of bytes and seconds say so."""
        for name, (kind, _) in existing().items():
            if kind == "histogram":
                assert name.endswith("_seconds")
            if "bytes" in name or "cpu" in name:
                assert name.endswith(("_bytes_total", "_seconds_total"))

    def test_no_label_can_tell_executions_apart(self) -> None:
        """Ids, paths and messages are for records and spans."""
        labels = {label for _, names in existing().values() for label in names}
        assert not labels & {"execution_id", "request_id", "session", "principal", "agent", "path"}

    def test_what_alerts_look_at_is_there_before_it_happens(self) -> None:
        """A counter that appears with its first event shows no increase."""
        registry = CollectorRegistry()
        Metrics(registry)
        refused = {"outcome": "refused"}
        assert registry.get_sample_value("caps_policy_reloads_total", refused) == 0
        assert registry.get_sample_value("caps_audit_failures_total") == 0


class TestBounds:
    def test_every_violation_in_the_sources_is_known(self) -> None:
        """So that none of our codes is counted as `other`."""
        named = set()
        for path in (ROOT / "src").rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                match node:
                    case ast.keyword(arg="violation", value=ast.Constant(value=str(violation))):
                        named.add(violation)
        registry = CollectorRegistry()
        metrics = Metrics(registry)
        for violation in named:
            metrics.protocol_violated(violation)
            labels = {"violation": violation}
            assert registry.get_sample_value("caps_protocol_violations_total", labels) == 1
        assert "flood" in named

    def test_a_code_that_is_not_known_shares_one_label(self) -> None:
        """Whatever it is, the number of time series stays the same."""
        registry = CollectorRegistry()
        metrics = Metrics(registry)
        metrics.limit_reached("made up")
        metrics.limit_reached("made up, too")
        metrics.protocol_violated("made up")
        assert registry.get_sample_value("caps_limits_reached_total", {"limit": OTHER}) == 2
        labels = {"violation": OTHER}
        assert registry.get_sample_value("caps_protocol_violations_total", labels) == 1


class TestSharing:
    def test_without_a_registry_they_are_counted_and_nobody_sees_them(self) -> None:
        """Not even by name: a registry that is made later has room for its own."""
        unseen = Metrics(None)
        unseen.zygote_started(again=True)
        assert unseen.zygote_restarts.samples() == [((), 1)]
        assert Metrics.of(CollectorRegistry()) is not unseen

    def test_a_registry_has_one_set_of_metrics(self) -> None:
        """Metrics of the same registry are the same object, and none collides."""
        registry = CollectorRegistry()
        assert Metrics.of(registry) is Metrics.of(registry)
        assert Metrics.of(registry) is not Metrics.of(CollectorRegistry())

    def test_metrics_go_with_their_registry(self) -> None:
        """Nothing here keeps a registry that its owner has dropped."""
        registry = CollectorRegistry()
        Metrics.of(registry)
        gone = weakref.ref(registry)
        del registry
        gc.collect()
        assert gone() is None

    def test_layers_are_counted_by_runtime_and_vanish_with_the_last(self) -> None:
        """A runtime that is closed leaves no sample behind."""
        registry = CollectorRegistry()
        metrics = Metrics(registry)
        layers = [Layer(name="seccomp", enforcement=Enforcement.PARTIALLY, detail="")]
        labels = {"layer": "seccomp", "enforcement": "partially"}
        metrics.count_layers(layers, +1)
        metrics.count_layers(layers, +1)
        assert registry.get_sample_value("caps_isolation_layers", labels) == 2
        metrics.count_layers(layers, -1)
        metrics.count_layers(layers, -1)
        assert registry.get_sample_value("caps_isolation_layers", labels) is None


@pytest.mark.anyio
class TestEvidence:
    async def test_records_and_failures_are_counted(self) -> None:
        """A record that the sink refuses is a failure, and the error is the sink's own."""
        registry = CollectorRegistry()
        audit = MeteredAudit(MemoryAuditLog(capacity=1), Metrics(registry))
        await audit.append(EVENT)
        with pytest.raises(AuditError, match="full at 1 record"):
            await audit.append(EVENT)
        kind = {"kind": "policy_loaded"}
        assert registry.get_sample_value("caps_audit_records_total", kind) == 1
        assert registry.get_sample_value("caps_audit_failures_total") == 1
        assert registry.get_sample_value("caps_audit_append_duration_seconds_count") == 2
        loaded = {"outcome": "accepted"}
        assert registry.get_sample_value("caps_policy_loads_total", loaded) == 1

    @pytest.mark.parametrize("answer", ["no", 1, [0], None, object()], ids=stable_repr)
    def test_only_true_means_durable(self, answer: object) -> None:
        """If a custom log returns anything else, nothing counts as recorded."""

        class Odd(MemoryAuditLog):
            def append_now(self, events: object) -> Any:
                return answer

            def has_recorded(self, events: object) -> Any:
                return answer

        audit = MeteredAudit(Odd(), Metrics(CollectorRegistry()))
        with pytest.raises(AuditError, match=r"`append_now` .* must return a `bool`, not `\w+`"):
            audit.append_now((EVENT,))
        assert audit.has_recorded((EVENT,)) is False

    def test_an_asynchronous_append_now_is_refused(self) -> None:
        """Its coroutine is truthy, and nobody awaits it."""

        class Late(MemoryAuditLog):
            async def append_now(self, events: object) -> bool:  # type: ignore[override]
                return True

        with pytest.raises(AuditError, match="not `coroutine`"):
            MeteredAudit(Late(), Metrics(CollectorRegistry())).append_now((EVENT,))

    async def test_a_foreign_error_is_one_of_the_log(self) -> None:
        """So that everything that waits for evidence refuses."""

        class Plain(MemoryAuditLog):
            def append(self, event: object) -> Any:
                return None

        audit = MeteredAudit(Plain(), Metrics(CollectorRegistry()))
        with pytest.raises(AuditError, match="the audit log failed with `TypeError`"):
            await audit.append(EVENT)
