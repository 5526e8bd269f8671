"""(8) A write that an interrupt of the program may end, and what is asked then: did it go in?

It belongs to whoever hands the events in. Others write the same file from their own threads, so
what was written last says nothing about whose it was.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from caps.security.audit.model.records import AuditEvent


class Attempt:
    """To write these very events, once."""

    __slots__ = ("_data", "_offset", "events")

    def __init__(self, events: Sequence[AuditEvent]) -> None:
        self.events = events
        self._offset = 0
        self._data = b""

    def begin(self, offset: int, data: bytes) -> None:
        """Called by the segment just before it writes `data`, which holds the events."""
        self._offset = offset
        self._data = data

    def went_in(self, fd: int) -> bool:
        """Whether the file has what was begun, though an interrupt came before that was noted.

        False of what was not begun, and where nobody can tell: evidence is given twice rather than
        not at all.
        """
        if not self._data:
            return False
        try:
            return os.pread(fd, len(self._data), self._offset) == self._data
        except OSError:
            return False
