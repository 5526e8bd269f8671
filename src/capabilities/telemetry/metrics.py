"""(8) What an operator watches: Prometheus metrics, with units in their names.

Labels are low in cardinality: each takes its values from a closed set of ours (statuses, reason
codes, layers) or from what the operator registered (capabilities, policies). Nothing that a worker
says becomes a label: a name that is not registered is `(unregistered)`, and a code that is not
known here is `(other)`.

All runtimes that are given the same registry share one `Metrics`, and count together.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from caps.capabilities.telemetry.release import release
from caps.capabilities.telemetry.counters import CounterTally, GaugeTally, HistogramTally, Tally
from caps.protocol.enforcement import Layer
from caps.security.audit.model.records import ExecutionStatus

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

UNREGISTERED: Final = "(unregistered)"
OTHER: Final = "(other)"

# The bounds at which the host kills; the others of a policy refuse single calls.
_LIMITS: Final = frozenset({"wall_ms", "cpu_ms", "memory_mb", "output_bytes", "session_wall_ms"})
_VIOLATIONS: Final = frozenset(
    "contradiction failed_before flood forbidden_system_call forged_id frame_too_large garbage "
    "malformed not_json_like out_of_turn replayed_request too_deep too_many_in_flight "
    "too_many_items truncated_frame unasked_answer version".split()
)


_CALL_SECONDS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
_EXECUTION_SECONDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0),
)
_START_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_APPEND_SECONDS: Final = (
    *(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
)


class Metrics:
    """The metrics of one registry. `Metrics.of(registry)` finds them if they are there."""

    def __init__(self, registry: CollectorRegistry | None) -> None:
        """Without a registry they are counted all the same, and nobody sees them."""
        self._add_executions()
        self._add_calls()
        self._add_workers()
        self._add_evidence()
        self._add_policies()
        self._begin_at_zero()
        if registry is not None:
            self._offer_in(registry)

    def _offer_in(self, registry: CollectorRegistry) -> None:
        from caps.capabilities.telemetry.prometheus import offer

        build = GaugeTally("caps_build_info", "The release of Caps, as a label.", ["version"])
        build.set((release(),), 1)
        offer([build, *(one for one in vars(self).values() if isinstance(one, Tally))], registry)
        _made[registry] = self

    @classmethod
    def of(cls, registry: CollectorRegistry) -> Metrics:
        """The metrics in `registry`, made when they are first asked for."""
        found = _made.get(registry)
        return cls(registry) if found is None else found

    def _add_executions(self) -> None:
        self.executions = CounterTally(
            "caps_executions", "Executions by how they ended.", ["status"]
        )
        self.execution_seconds = HistogramTally(
            "caps_execution_duration_seconds",
            "From start to result of an execution.",
            [],
            buckets=_EXECUTION_SECONDS,
        )
        self.executions_in_flight = GaugeTally(
            "caps_executions_in_flight", "Executions that are under way."
        )
        self.execution_cpu_seconds = CounterTally(
            "caps_execution_cpu_seconds", "CPU time that the code of executions used.", []
        )
        self.output_bytes = CounterTally(
            "caps_execution_output_bytes", "Bytes that executions printed."
        )
        self.limits = CounterTally(
            "caps_limits_reached",
            "Executions that were killed at a limit, by the limit.",
            ["limit"],
        )
        self.violations = CounterTally(
            "caps_protocol_violations",
            "Executions that were killed for what their worker sent or did.",
            ["violation"],
        )

    def _add_calls(self) -> None:
        self.injected = CounterTally(
            "capability_injected", "Capabilities granted to an execution.", ["capability"]
        )
        self.denied = CounterTally(
            "policy_denied", "Requests that the policy refused.", ["capability", "reason"]
        )
        self.requests = CounterTally(
            "caps_capability_requests",
            "Capability requests by what was decided, why, and how they ended.",
            ["capability", "decision", "reason_code", "status"],
        )
        self.request_seconds = HistogramTally(
            "caps_capability_request_duration_seconds",
            "From the arrival of a request to its answer.",
            ["capability"],
            buckets=_CALL_SECONDS,
        )
        self.requests_in_flight = GaugeTally(
            "caps_capability_requests_in_flight", "Capability requests that wait for their answer."
        )
        self.result_bytes = CounterTally(
            "caps_capability_result_bytes",
            "Bytes of the results that capabilities gave.",
            ["capability"],
        )

    def _add_workers(self) -> None:
        self.workers_alive = GaugeTally("caps_workers_alive", "Live workers.")
        self.spares_ready = GaugeTally("caps_spare_workers_ready", "Workers that wait for code.")
        self.spares_wanted = GaugeTally(
            "caps_spare_workers_wanted", "Workers that should wait for code."
        )
        self.spares_exhausted = CounterTally(
            "caps_spare_workers_exhausted",
            "Starts that found no spare worker and waited for a new one.",
        )
        self.worker_start_seconds = HistogramTally(
            "caps_worker_start_duration_seconds",
            "From the order of a worker until it waits for code.",
            [],
            buckets=_START_SECONDS,
        )
        self.zygote_starts = CounterTally("caps_zygote_starts", "Zygotes that were started.")
        self.zygote_restarts = CounterTally(
            "caps_zygote_restarts", "Zygotes that took the place of a dead one."
        )
        self.isolation_layers = GaugeTally(
            "caps_isolation_layers",
            "Open runtimes by how much of each isolation layer is in force.",
            ["layer", "enforcement"],
        )

    def _add_evidence(self) -> None:
        self.audit_seconds = HistogramTally(
            "caps_audit_append_duration_seconds",
            "From handing in a record until it is safe, or known not to be.",
            [],
            buckets=_APPEND_SECONDS,
        )
        self.audit_records = CounterTally("caps_audit_records", "Audit records written.", ["kind"])
        self.audit_failures = CounterTally(
            "caps_audit_failures", "Audit records that could not be written."
        )
        # Sinks are named by the operator, who has few of them.
        self.audit_sink_up = GaugeTally(
            "caps_audit_sink_up", "1 if an audit sink takes records, 0 if it does not.", ["sink"]
        )
        self.audit_sink_dropped = CounterTally(
            "caps_audit_sink_dropped_records",
            "Records that a best-effort audit sink did not get.",
            ["sink"],
        )

    def _add_policies(self) -> None:
        self.policy_info = GaugeTally(
            "caps_policy_info",
            "The policies in force, each with the number of runtimes that it is in force for.",
            ["policy_id", "policy_sha256"],
        )
        self.policy_reloads = CounterTally(
            "caps_policy_reloads",
            "Changes of a watched policy, by what became of them.",
            ["outcome"],
        )
        self.policy_loads = CounterTally(
            "caps_policy_loads", "Policies that were read, by what became of them.", ["outcome"]
        )
        self.dry_run_denied = CounterTally(
            "caps_policy_dry_run_denied",
            "Allowed requests that a deny rule in dry run would have refused.",
            ["capability"],
        )
        self.revoked = CounterTally(
            "caps_grants_revoked",
            "Capabilities taken back from a running execution or session.",
            ["capability"],
        )
        self.approvals = CounterTally(
            "caps_approvals",
            "Approvals that were asked for, by how the waiting ended.",
            ["capability", "outcome"],
        )
        self.approvals_waiting = GaugeTally(
            "caps_approvals_waiting", "Calls that wait for an approval."
        )

    def _begin_at_zero(self) -> None:
        """What alerts look at is there before it happens: a first increase is seen from zero."""
        for metric, values in (
            (self.executions, [status.value for status in ExecutionStatus]),
            (self.limits, sorted(_LIMITS)),
            (self.violations, sorted(_VIOLATIONS)),
            (self.policy_loads, ["accepted", "refused"]),
            (self.policy_reloads, ["accepted", "refused", "failed"]),
        ):
            for value in values:
                metric.begin((value,))

    def count_injected(self, granted: Sequence[str]) -> None:
        """One more execution is granted these."""
        self.injected.add_each([(name,) for name in granted])

    def execution_begun(self) -> None:
        """One more execution is under way; `execution_ended` is due."""
        self.executions_in_flight.add(1)

    def execution_ended(
        self, status: ExecutionStatus, seconds: float, output_bytes: int, cpu_us: int | None
    ) -> None:
        """One is over; `cpu_us` is what its code used, if anybody could measure it."""
        self.executions_in_flight.add(-1)
        self.executions.add((status.value,))
        self.execution_seconds.observe((), seconds)
        if output_bytes:
            self.output_bytes.add((), output_bytes)
        if cpu_us:
            self.execution_cpu_seconds.add((), cpu_us / 1_000_000)

    def count_layers(self, layers: Iterable[Layer], change: int) -> None:
        """One open runtime more or less has these layers."""
        for layer in layers:
            self.isolation_layers.add_holder((layer.name, layer.enforcement.value), change)

    def count_policy(self, policy_id: str, policy_sha256: str, change: int) -> None:
        """One runtime more or less has this policy; in force for none, it has no sample."""
        self.policy_info.add_holder((policy_id, policy_sha256), change)

    def zygote_started(self, again: bool) -> None:
        """A zygote was started; `again`: in the place of one that is gone."""
        self.zygote_starts.add(())
        if again:
            self.zygote_restarts.add(())

    def limit_reached(self, limit: str) -> None:
        """An execution was killed at a limit."""
        self.limits.add((limit if limit in _LIMITS else OTHER,))

    def protocol_violated(self, violation: str) -> None:
        """An execution was killed for what its worker did."""
        self.violations.add((violation if violation in _VIOLATIONS else OTHER,))


# Metrics hold no registry, so that one that nobody uses any more goes with its metrics.
_made: weakref.WeakKeyDictionary[CollectorRegistry, Metrics] = weakref.WeakKeyDictionary()


def default_metrics() -> Metrics:
    """The process's own metrics, in the global registry."""
    from prometheus_client import REGISTRY

    return Metrics.of(REGISTRY)
