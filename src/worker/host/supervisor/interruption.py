"""Asks the code to stop before it is killed: it may clean up, and a session keeps its names.

The signal is repeated, since code may catch an interrupt, or be in a place where it is lost.
Whatever the code does, it is killed when its time is over.
"""

from __future__ import annotations

from typing import Any

import anyio

from caps.protocol.errors import LimitExceededError
from caps.protocol.messages import INTERRUPT_GRACE_SECONDS, ErrorReport
from caps.worker.host.process.worker import Worker

_INTERRUPTS = 4


class CodeInterruptedError(LimitExceededError):
    """The code reached a limit, was interrupted, and has ended: its worker is usable.

    `report` is the code's own error, which says where it was interrupted; None if it caught it.
    """

    def __init__(self, message: str, /, *, report: ErrorReport | None, **details: Any) -> None:
        super().__init__(message, **details)
        self.report = report


async def interrupt(worker: Worker) -> None:
    """Interrupt the code until its time to stop is over. Cancelled by the caller if it stops."""
    for _ in range(_INTERRUPTS):
        worker.interrupt()
        await anyio.sleep(INTERRUPT_GRACE_SECONDS / _INTERRUPTS)
