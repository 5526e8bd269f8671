"""Progress and log messages of a request, sent by one task so that a slow client delays nothing.

A report that comes while the last one is still being sent replaces the one that waits: progress
tells where a call is, not how it came there. Log messages are kept up to a bound.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, get_args

import anyio
from mcp.server.connection import allowed_log_levels
from mcp_types import LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from caps.capabilities.progress import Progress
from caps.mcp.server.caller import Context

_LEVELS: Final[tuple[LoggingLevel, ...]] = get_args(LoggingLevel)
_LOGGER: Final = "caps"
_MAX_WAITING: Final = 1000
_KEPT: Final = 10_000


class LogLevels:
    """The level that each session has set; a session that has set none gets no messages."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, LoggingLevel] = OrderedDict()

    def set(self, session: str, level: LoggingLevel) -> None:
        self._levels[session] = level
        self._levels.move_to_end(session)
        while len(self._levels) > _KEPT:
            self._levels.popitem(last=False)

    def allowed(self, context: Context, session: str) -> frozenset[LoggingLevel]:
        """The levels that may be sent for this request."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return allowed_log_levels(context.protocol_version, context.meta)
        level = self._levels.get(session)
        return frozenset() if level is None else frozenset(_LEVELS[_LEVELS.index(level) :])


class Notices:
    """What is still to be sent for one request. `open_notices` sends it."""

    def __init__(self, context: Context, levels: frozenset[LoggingLevel]) -> None:
        self._context = context
        self._levels = levels
        self._logs: deque[tuple[LoggingLevel, Any]] = deque()
        self._progress: deque[Progress] = deque()
        self._done = 0.0
        self._changed = anyio.Event()
        self._is_closed = False

    def log(self, level: LoggingLevel, data: Any) -> None:
        if level in self._levels and len(self._logs) < _MAX_WAITING:
            self._logs.append((level, data))
            self._changed.set()

    def progress(self, progress: Progress) -> None:
        """A number that is not above the last one is left out: MCP wants it to rise."""
        if progress.done <= self._done and self._done:
            return
        self._done = progress.done
        if len(self._progress) >= _MAX_WAITING:
            self._progress.pop()
        self._progress.append(progress)
        self._changed.set()

    def step(self, message: str) -> None:
        """One more step of something whose end is not known."""
        self.progress(Progress(self._done + 1, None, message))

    def step_of_call(self, progress: Progress) -> None:
        """A step of one call of many: each call counts for itself, so its numbers are text."""
        done = f"{progress.done:g}"
        if progress.total is not None:
            done += f" of {progress.total:g}"
        parts = [f"{progress.capability}: {done}", *filter(None, [progress.message])]
        self.step(", ".join(parts))

    def close(self) -> None:
        self._is_closed = True
        self._changed.set()

    async def send_all(self) -> None:
        """Send until it is closed and nothing waits."""
        while True:
            while self._logs or self._progress:
                if self._logs:
                    await self._send_log(*self._logs.popleft())
                if self._progress:
                    now = self._progress.popleft()
                    await self._context.session.report_progress(now.done, now.total, now.message)
            if self._is_closed:
                return
            self._changed = anyio.Event()
            await self._changed.wait()

    async def _send_log(self, level: LoggingLevel, data: Any) -> None:
        message = LoggingMessageNotificationParams(level=level, logger=_LOGGER, data=data)
        await self._context.session.send_notification(
            LoggingMessageNotification(params=message), related_request_id=self._context.request_id
        )


@asynccontextmanager
async def open_notices(context: Context, levels: frozenset[LoggingLevel]) -> AsyncIterator[Notices]:
    """Sends what is told inside; everything is sent before this context ends."""
    notices, failure = Notices(context, levels), None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notices.send_all)
        try:
            yield notices
        except Exception as error:  # noqa: BLE001 - raised below, and not as one of a group
            failure = error
        finally:
            notices.close()
    if failure is not None:
        raise failure
