"""(8) Metrics and spans: what operators see of executions and calls, in addition to the audit log.

`metrics` are always counted, with `counters`; `prometheus` registers them with Prometheus, and
`http_server` serves them. `tracing` decides whether there is anything to trace, `spans` traces it
with OpenTelemetry, `otlp_export` exports it as set by the OTEL_* variables. `calls` observes each
call for both, `observers` the audit log and the workers, and `mcp` the requests of an MCP server.
"""

from __future__ import annotations

from caps.capabilities.telemetry.metrics import OTHER, UNREGISTERED, Metrics, default_metrics
from caps.capabilities.telemetry.tracing import Tracing

__all__ = ["OTHER", "UNREGISTERED", "Metrics", "Tracing", "default_metrics"]
