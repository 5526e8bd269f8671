"""(8) OTLP logs over HTTP with OpenTelemetry's exporter: one log record per audit record.

The body is the record as it is on disk; attributes carry the fields that queries filter by, escaped
and cut (`forms.py`). TLS, headers and compression come from the usual `OTEL_EXPORTER_OTLP_*`
variables. A record is accepted when the collector answers 2xx. Needs the extra `otlp`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from caps.protocol.errors import ConfigurationError
from caps.security.audit.model.records import is_timestamp
from caps.security.audit.sinks.forms import cell
from caps.security.audit.sinks.interface import Delivery, RecordRefusedError, SinkError
from caps.security.audit.sinks.urls import SinkAddress, SinkKind

if TYPE_CHECKING:
    import requests
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import ReadableLogRecord

_ATTRIBUTES: Final = (
    *("hash", "execution_id", "principal", "agent", "session"),
    *("capability", "decision", "reason", "status", "policy_id"),
)
# Answers that say nothing about the records: who asks, where, how often, or that it is down.
_NOT_OF_CONTENT: Final = frozenset({401, 403, 404, 405, 407, 408, 429, 502, 503, 504})
_CREDENTIALS: Final = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_LOGS_CREDENTIAL_PROVIDER",
)
_PATH: Final = "/v1/logs"
_decode: Final = msgspec.json.Decoder().decode


class OtlpSink:
    """One exporter, created again after a failure."""

    keeps = False

    def __init__(self, address: SinkAddress, log: str) -> None:
        """Raises `ConfigurationError` if the extra is not installed."""
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
        self._notes_status = not any(variable in os.environ for variable in _CREDENTIALS)
        self._status: int | None = None

    def connect(self) -> int | None:
        self._exporter = self._make(
            endpoint=self._endpoint, timeout=self._deadline, session=self._session()
        )
        return None

    def _session(self) -> requests.Session | None:
        """A session that notes the status of each answer; None if a variable names another one."""
        if not self._notes_status:
            return None
        import requests

        session = requests.Session()
        session.hooks["response"].append(self._note_status)
        return session

    def _note_status(self, response: requests.Response, *_: Any, **__: Any) -> None:
        self._status = response.status_code

    def deliver(self, items: Sequence[Delivery]) -> None:
        assert self._exporter is not None
        self._status = None
        result = self._exporter.export([self._log_record(item) for item in items])
        if result.name != "SUCCESS":
            kind = RecordRefusedError if self._is_of_content() else SinkError
            raise kind("the collector did not accept the records")

    def _is_of_content(self) -> bool:
        """Whether the collector answered, and not that it takes nothing at all."""
        if not self._notes_status:
            return True  # perhaps; a record in another form is better than none
        return self._status is not None and self._status not in _NOT_OF_CONTENT

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
        shown = {
            f"caps.{name}": cell(record[name], ascii_only=item.ascii_only)
            for name in _ATTRIBUTES
            if name in record
        }
        return ReadableLogRecord(
            LogRecord(
                timestamp=_nanoseconds(record.get("ts")),
                context=Context(),
                severity_number=SeverityNumber.WARN if denied else SeverityNumber.INFO,
                severity_text="WARN" if denied else "INFO",
                body=item.line.decode(),
                attributes={
                    **shown,
                    "caps.log": self._log,
                    "caps.kind": kind,
                    "caps.seq": item.seq,
                },
                event_name=f"caps.audit.{kind}",
            ),
            Resource.create(),
            InstrumentationScope("caps.audit"),
        )


def _nanoseconds(ts: Any) -> int | None:
    if not isinstance(ts, str) or not is_timestamp(ts):
        return None
    return int(datetime.fromisoformat(ts).timestamp() * 1e6) * 1000
