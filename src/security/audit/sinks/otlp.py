"""(8) OTLP logs over HTTP, by OpenTelemetry's own exporter: one log record an audit record.

The body is the record as it lies on disk; attributes carry what a query filters by. TLS, headers
and compression come from the usual `OTEL_EXPORTER_OTLP_*` variables. Accepted means that the
collector answered 2xx. Needs the extra `otlp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from caps.protocol.errors import ConfigurationError
from caps.security.audit.sinks.urls import SinkAddress, SinkKind
from caps.security.audit.sinks.interface import Delivery, SinkError

if TYPE_CHECKING:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import ReadableLogRecord

_ATTRIBUTES: Final = (
    "seq",
    "hash",
    "execution_id",
    "principal",
    "agent",
    "session",
    "capability",
    "decision",
    "reason",
    "status",
    "policy_id",
)
_PATH: Final = "/v1/logs"
_decode: Final = msgspec.json.Decoder().decode


class OtlpSink:
    """One exporter, made anew after a failure."""

    keeps = False

    def __init__(self, address: SinkAddress, log: str) -> None:
        """Raises `ConfigurationError` when the extra is not installed."""
        try:
            from opentelemetry.exporter.otlp.proto.http import _log_exporter
        except ImportError as error:
            raise ConfigurationError(
                f"audit sink `{address.terms.name}` needs the extra `otlp`; "
                "install `caps-runtime[otlp]`"
            ) from error
        scheme = "http" if address.kind is SinkKind.OTLP_HTTP else "https"
        path = address.parts.path if address.parts.path not in ("", "/") else _PATH
        self._endpoint = f"{scheme}://{address.parts.netloc}{path}"
        self._make = _log_exporter.OTLPLogExporter
        self._deadline = address.terms.deadline
        self._log = log
        self._exporter: OTLPLogExporter | None = None

    def connect(self) -> int | None:
        self._exporter = self._make(endpoint=self._endpoint, timeout=self._deadline)
        return None

    def deliver(self, items: Sequence[Delivery]) -> None:
        assert self._exporter is not None
        result = self._exporter.export([self._log_record(item) for item in items])
        if result.name != "SUCCESS":
            raise SinkError("the collector did not accept the records")

    def close(self) -> None:
        if self._exporter is not None:
            self._exporter.shutdown()  # type: ignore[no-untyped-call]
            self._exporter = None

    def _log_record(self, item: Delivery) -> ReadableLogRecord:
        from opentelemetry._logs import LogRecord, SeverityNumber
        from opentelemetry.context import Context
        from opentelemetry.sdk._logs import ReadableLogRecord
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        record: dict[str, Any] = _decode(item.line)
        kind = "checkpoint" if item.checkpoint else str(record["kind"])
        denied = record.get("decision") == "deny"
        shown = {f"caps.{name}": record[name] for name in _ATTRIBUTES if name in record}
        return ReadableLogRecord(
            LogRecord(
                timestamp=int(datetime.fromisoformat(record["ts"]).timestamp() * 1e6) * 1000,
                context=Context(),
                severity_number=SeverityNumber.WARN if denied else SeverityNumber.INFO,
                severity_text="WARN" if denied else "INFO",
                body=item.line.decode(),
                attributes={**shown, "caps.log": self._log, "caps.kind": kind},
                event_name=f"caps.audit.{kind}",
            ),
            Resource.create(),
            InstrumentationScope("caps.audit"),
        )
