"""A call that can be stopped from outside, told apart from one whose deadline has passed."""

from __future__ import annotations

import anyio
import msgspec


class StoppableCall(msgspec.Struct, eq=False):
    """Runs within `scope`, which ends at its deadline or when the call is stopped."""

    capability: str
    scope: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)
    was_stopped: bool = False

    def stop(self) -> None:
        """End it now; one that is ending at its deadline already ended for that."""
        self.was_stopped = self.was_stopped or not self.scope.cancel_called
        self.scope.cancel()
