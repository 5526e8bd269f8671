"""(8) Metrics and spans: what operators see of executions and calls, beside the evidence.

`metrics` are Prometheus's and always counted; `tracing` has spans and instruments of OpenTelemetry,
which cost next to nothing without a configured provider; `calls` observes each call for both.
`exposition` serves the metrics, `otlp` exports spans as the usual variables say.
"""

from __future__ import annotations

from caps.capabilities.telemetry.metrics import OTHER, UNREGISTERED, Metrics, default_metrics
from caps.capabilities.telemetry.tracing import Tracing

__all__ = ["OTHER", "UNREGISTERED", "Metrics", "Tracing", "default_metrics"]
