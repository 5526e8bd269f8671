"""(8) The sink for each kind of URL. Its module, and a heavy library, is imported only if used."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from caps.security.audit.sinks.interface import Sink
from caps.security.audit.sinks.urls import SinkAddress, SinkKind


def make_sink(address: SinkAddress, directory: Path, log: str) -> Sink:
    """Return the sink of an address, not connected yet. Raises `ConfigurationError`."""
    match address.kind:
        case SinkKind.STDOUT:
            from caps.security.audit.sinks.streams import StdoutSink

            return StdoutSink(address.terms.deadline)
        case SinkKind.FILE:
            from caps.security.audit.sinks.streams import FileSink

            return FileSink(Path(address.parts.path), directory, address.terms.deadline)
        case SinkKind.SYSLOG_UNIX | SinkKind.SYSLOG_UDP | SinkKind.SYSLOG_TCP:
            from caps.security.audit.sinks.syslog import SyslogSink

            return SyslogSink(address)
        case SinkKind.OTLP_HTTP | SinkKind.OTLP_HTTPS:
            from caps.security.audit.sinks.otlp import OtlpSink

            return OtlpSink(address, log)
        case SinkKind.SQLITE | SinkKind.POSTGRESQL:
            from caps.security.audit.sinks.database import DatabaseSink

            return DatabaseSink(address, log)
        case _:
            assert_never(address.kind)
