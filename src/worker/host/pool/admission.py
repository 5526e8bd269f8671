"""Who may use a worker next: a bounded number of workers, fair turns, and a wait that ends.

An owner is the principal that an execution or a session belongs to. It uses at most its share of
the workers, so that others find one; when all are in use, owners take turns. A caller that has
waited for too long gets an error: a queue without an end only hides that there is too much work.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import TypeVar, TypeVarTuple

import anyio

from caps.protocol.errors import WorkerLostError
from caps.worker.host.pool.fair_slots import FairSlots
from caps.worker.host.pool.observer import NullPoolObserver, PoolObserver

DEFAULT_WAIT_MS = 30_000

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class WaitReason(enum.Enum):
    """What a caller waits for."""

    WORKER = "worker"  # all workers are in use
    PRINCIPAL = "principal"  # its principal uses as many as it may
    MODULES = "modules"  # as many sets of real modules are in use as there can be


class NoFreeWorkerError(WorkerLostError):
    """No worker became free in time. No code ran, and there is no retry.

    Details: `waited_ms`, `waiting_for` (a value of `WaitReason`).
    """


class Admission:
    """Admits owners to `max_workers` workers, which all pools of a runtime share."""

    def __init__(
        self,
        max_workers: int,
        *,
        per_owner: int | None = None,
        max_wait_ms: int = DEFAULT_WAIT_MS,
        observer: PoolObserver | None = None,
    ) -> None:
        """By default an owner may use half of the workers, and one if there is only one."""
        self._max_workers = max_workers
        share = (max_workers + 1) // 2 if per_owner is None else per_owner
        self._slots = FairSlots(max_workers, share)
        self.enter_now = self._slots.acquire_nowait
        """Take a worker's slot if that needs no waiting; then the caller has to `leave`."""
        self._max_wait_ms = max_wait_ms
        self._observer = NullPoolObserver() if observer is None else observer

    async def enter(self, owner: str) -> None:
        """Wait for a worker's slot; the caller has to `leave`. Raises NoFreeWorkerError."""
        if not self._slots.acquire_nowait(owner):
            has_share = self._slots.has_share_left(owner)
            reason = WaitReason.WORKER if has_share else WaitReason.PRINCIPAL
            await self.wait(reason, self._slots.acquire, owner)

    def leave(self, owner: str) -> None:
        """Free a slot."""
        self._slots.release(owner)

    async def wait(
        self,
        reason: WaitReason,
        call: Callable[[*Arguments], Awaitable[T]],
        *arguments: *Arguments,
    ) -> T:
        """Wait for `call`, but not for ever. Raises NoFreeWorkerError."""
        self._observer.waiting_changed(reason.value, +1)
        try:
            with anyio.move_on_after(self._max_wait_ms / 1000):
                return await call(*arguments)
        finally:
            self._observer.waiting_changed(reason.value, -1)
        self._observer.wait_refused(reason.value)
        raise self._refusal(reason)

    def _refusal(self, reason: WaitReason) -> NoFreeWorkerError:
        match reason:
            case WaitReason.WORKER:
                why = f"all {self._max_workers} are in use; try again later, or raise `max_workers`"
            case WaitReason.PRINCIPAL:
                why = (
                    f"its principal uses {self._slots.per_owner}, as many as it may; wait for "
                    "these to end, or raise `max_workers_per_principal`"
                )
            case WaitReason.MODULES:
                why = "too many sets of `modules` are in use; try again later"
        return NoFreeWorkerError(
            f"no worker was free within {self._max_wait_ms} ms: {why}",
            started=False,
            waited_ms=self._max_wait_ms,
            waiting_for=reason.value,
        )
