"""(8) From addresses to running feeds. Heavy libraries are imported with the sinks they serve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

from caps.protocol.errors import ConfigurationError
from caps.security.audit.sinks.urls import SinkAddress, SinkKind
from caps.security.audit.sinks.feed import Feed
from caps.security.audit.sinks.backfill import CursorFile, History
from caps.security.audit.sinks.interface import Sink, SinkObserver
from caps.security.audit.files.tail import log_id
from caps.security.audit.log.writer import Writer


def make_feeds(
    addresses: Sequence[SinkAddress],
    directory: Path,
    writer: Writer,
    *,
    newest: int,
    observer: SinkObserver | None,
) -> list[Feed]:
    """A feed for each, not started. Raises `ConfigurationError`, `OSError` or `AuditError`."""
    names = [address.terms.name for address in addresses]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"audit sink `{name}` is given twice")
    log, history = log_id(directory), History(directory)
    return [
        Feed(
            make_sink(address, directory, log),
            address.terms,
            history,
            CursorFile(directory, address.terms.name),
            report=writer.note,
            flush=writer.flush,
            observer=observer,
            newest=newest,
        )
        for address in addresses
    ]


def make_sink(address: SinkAddress, directory: Path, log: str) -> Sink:
    """The sink of an address, not connected yet. Raises `ConfigurationError`."""
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
