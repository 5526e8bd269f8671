"""The sync way in: calls from any thread into the event loop that a runtime keeps in its own."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio.from_thread import BlockingPortal

from caps.capabilities.result import ExecutionResult
from caps.capabilities.session import Session
from caps.worker.host.lease import SessionEnd

T = TypeVar("T")


def wait_for(portal: BlockingPortal, call: Callable[[], Awaitable[T]]) -> T:
    """Run `call` in the portal's loop and wait; an interrupt of this thread cancels it there."""
    running = portal.start_task_soon(call)
    try:
        return running.result()
    except BaseException:
        running.cancel()
        raise


class SyncSession:
    """A session for programs without an event loop. Made by `Runtime.session_sync`."""

    def __init__(self, session: Session, portal: BlockingPortal) -> None:
        self._session = session
        self._portal = portal

    @property
    def id(self) -> str:
        """What the records of all its runs carry as `session`."""
        return self._session.id

    @property
    def ended(self) -> SessionEnd | None:
        """Why it is over; None while it lives."""
        return self._session.ended

    def run(
        self, source: str, *, on_output: Callable[[str], None] | None = None
    ) -> ExecutionResult:
        """`Session.run`, from any thread."""
        call: Callable[[], Awaitable[ExecutionResult]] = functools.partial(
            self._session.run, source, on_output=on_output
        )
        return wait_for(self._portal, call)

    def close(self) -> None:
        """`Session.close`, from any thread."""
        wait_for(self._portal, self._session.close)
