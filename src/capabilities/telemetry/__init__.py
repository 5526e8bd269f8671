"""(8) Metrics and spans: what operators see of executions and calls, beside the evidence.

`metrics` are always counted, as `tallies`; `collecting` makes them Prometheus's own, `exposition`
serves them. `tracing` says whether there is anything to trace, `spans` traces it by OpenTelemetry,
and `otlp` exports that as the usual variables say; `calls` observes each call for both.
"""

from __future__ import annotations

from caps.capabilities.telemetry.metrics import OTHER, UNREGISTERED, Metrics, default_metrics
from caps.capabilities.telemetry.tracing import Tracing

__all__ = ["OTHER", "UNREGISTERED", "Metrics", "Tracing", "default_metrics"]
