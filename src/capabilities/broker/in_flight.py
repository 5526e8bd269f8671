"""(6) The calls of one execution that are in flight, so that a revocation can stop them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from caps.capabilities.broker.invoke import CancellableCall


class CallsInFlight:
    """Of one execution: calls that wait for a person, or for their provider."""

    def __init__(self) -> None:
        self._calls: set[CancellableCall] = set()

    @contextmanager
    def stoppable(self, capability: str) -> Iterator[CancellableCall]:
        """What runs within ends when the capability is revoked."""
        call = CancellableCall(capability)
        self._calls.add(call)
        try:
            yield call
        finally:
            self._calls.remove(call)

    def stop(self, capabilities: frozenset[str]) -> None:
        """Stop the calls of these capabilities."""
        for call in self._calls:
            if call.capability in capabilities:
                call.stop()
