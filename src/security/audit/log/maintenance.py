"""(8) What a log needs beside its appends: checkpoints by the clock, compression of old files.

One thread, off the path of every call. What fails here is logged and tried again: the records are
safe without it, and closing the log reports a checkpoint that could not be made.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

from caps.protocol.errors import AuditError
from caps.security.audit.log.rotation import compress_closed
from caps.security.audit.log.segment import Segment
from caps.security.audit.log.writer import Writer

_LOOK_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


class Upkeep:
    """The thread; it ends with `close`, or with the process."""

    def __init__(
        self,
        directory: Path,
        writer: Writer,
        segment: Segment,
        *,
        checkpoint_seconds: float | None,
        compress: bool,
    ) -> None:
        self._directory = directory
        self._writer = writer
        self._segment = segment
        self._checkpoint_seconds = checkpoint_seconds
        self._compress = compress
        self._compressed_below = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Waits for a compression under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        waits = [self._checkpoint_seconds or _LOOK_SECONDS]
        if self._compress:
            waits.append(_LOOK_SECONDS)
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
