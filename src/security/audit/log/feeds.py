"""(8) Starting the feeds of a log. Each sink imports its heavy library only when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from caps.protocol.errors import ConfigurationError
from caps.security.audit.files.tail import log_id
from caps.security.audit.log.segment import Segment
from caps.security.audit.log.settings import AuditSettings
from caps.security.audit.log.writer import Writer
from caps.security.audit.sinks.backfill import CursorFile, SegmentBackfill
from caps.security.audit.sinks.feed import Feed
from caps.security.audit.sinks.interface import Sink, SinkObserver
from caps.security.audit.sinks.urls import SinkAddress, SinkKind


def start_feeds(
    settings: AuditSettings, writer: Writer, segment: Segment, observer: SinkObserver | None
) -> None:
    """Start a feed for each sink; `segment` is closed if that fails.

    Raises `ConfigurationError`, `OSError` or `AuditError`.
    """
    newest = segment.head.seq - len(segment.opening_lines)
    try:
        writer.start(_make_feeds(settings, writer, newest, observer))
    except BaseException:
        segment.close()
        raise


def _make_feeds(
    settings: AuditSettings, writer: Writer, newest: int, observer: SinkObserver | None
) -> list[Feed]:
    directory, addresses = settings.directory, settings.sinks
    names = [address.terms.name for address in addresses]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"audit sink `{name}` is given twice")
    log, history = log_id(directory), SegmentBackfill(directory)
    return [
        Feed(
            _make_sink(address, directory, log),
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


def _make_sink(address: SinkAddress, directory: Path, log: str) -> Sink:
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
