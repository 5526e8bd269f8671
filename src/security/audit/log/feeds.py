"""(8) Starting the feeds of a log, one for each sink."""

from __future__ import annotations

from caps.protocol.errors import ConfigurationError
from caps.security.audit.files.tail import log_id
from caps.security.audit.log.segment import Segment
from caps.security.audit.log.settings import AuditSettings
from caps.security.audit.log.writer import Writer
from caps.security.audit.sinks.backfill import CursorFile, SegmentBackfill
from caps.security.audit.sinks.feed import Feed
from caps.security.audit.sinks.interface import SinkObserver
from caps.security.audit.sinks.make_sink import make_sink


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
