"""(8) Background work of a log: periodic checkpoints, and compression of old files.

It runs in one thread, off the path of every call. A failure is logged, and the work is tried again:
the records are safe without it, and closing the log reports a checkpoint that could not be written.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from caps.protocol.errors import AuditError
from caps.security.audit.log.rotation import compress_closed
from caps.security.audit.log.segment import Segment
from caps.security.audit.log.settings import AuditSettings
from caps.security.audit.log.writer import Writer

_POLL_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


class MaintenanceThread:
    """The background thread; it ends with `close`, or with the process."""

    def __init__(self, settings: AuditSettings, writer: Writer, segment: Segment) -> None:
        self._directory = settings.directory
        self._writer = writer
        self._segment = segment
        self._checkpoint_seconds = settings.checkpoint_seconds
        self._compress = settings.compress
        self._compressed_below = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Wait for a compression in progress."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        waits = [self._checkpoint_seconds or _POLL_SECONDS]
        if self._compress:
            waits.append(_POLL_SECONDS)
        unsigned_for = 0.0
        while True:
            self._compress_old()
            if self._stop.wait(min(waits)):
                break
            unsigned_for = unsigned_for + min(waits) if self._segment.unpinned else 0.0
            if self._checkpoint_seconds is not None and unsigned_for >= self._checkpoint_seconds:
                self._sign()
                unsigned_for = 0.0
        self._compress_old()

    def _sign(self) -> None:
        try:
            self._writer.pin()
        except AuditError as error:
            logger.warning("a checkpoint is late: %s", error)

    def _compress_old(self) -> None:
        number = self._segment.number
        if not self._compress or number == self._compressed_below:
            return
        try:
            compress_closed(self._directory)
            self._compressed_below = number
        except (OSError, AuditError) as error:
            logger.warning("an audit segment cannot be compressed: %s", error)
