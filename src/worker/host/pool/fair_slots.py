"""Slots that owners share fairly: each has a bounded share, and those that wait take turns.

Used in one event loop. A free slot goes to the owner that has waited longest since its last turn,
whatever the number of its waiting callers.
"""

from __future__ import annotations

from collections import deque

import anyio


class FairSlots:
    """`total` slots, of which one owner has at most `per_owner`."""

    def __init__(self, total: int, per_owner: int) -> None:
        self._free = total
        self._per_owner = per_owner
        self._held: dict[str, int] = {}
        # The callers that wait, by their owner; the owner whose turn is next is the first.
        self._waiting: dict[str, deque[anyio.Event]] = {}

    @property
    def per_owner(self) -> int:
        """The most slots that one owner can have."""
        return self._per_owner

    def has_share_left(self, owner: str) -> bool:
        """Whether `owner` has fewer slots than it may have."""
        return self._held.get(owner, 0) < self._per_owner

    def acquire_nowait(self, owner: str) -> bool:
        """Take a slot if that needs no waiting. Nobody overtakes: a free slot has no taker then."""
        held = self._held.get(owner, 0)
        if not self._free or held >= self._per_owner or owner in self._waiting:
            return False
        self._free -= 1
        self._held[owner] = held + 1
        return True

    async def acquire(self, owner: str) -> None:
        """Wait for a slot; the caller has to `release` it."""
        if self.acquire_nowait(owner):
            return
        turn = anyio.Event()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.release(owner)
            else:
                self._leave(owner, turn)
            raise

    def release(self, owner: str) -> None:
        """Give a slot back."""
        self._free += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        self._serve_next()

    def _serve_next(self) -> None:
        for owner in self._waiting:
            if self.has_share_left(owner):
                turns = self._waiting.pop(owner)
                turns.popleft().set()
                self._take(owner)
                if turns:
                    self._waiting[owner] = turns  # as the last
                return

    def _take(self, owner: str) -> None:
        self._free -= 1
        self._held[owner] = self._held.get(owner, 0) + 1

    def _leave(self, owner: str, turn: anyio.Event) -> None:
        turns = self._waiting[owner]
        turns.remove(turn)
        if not turns:
            del self._waiting[owner]
