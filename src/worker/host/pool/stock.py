"""The stock of spares, most of which have the manifest that most executions of the pool have.

A worker that has its manifest needs only the code: what it does to read a manifest is then done
while nobody waits. Invariants:

- A worker gets one manifest in its life. One that has it serves an execution with exactly this
  manifest, or none, so code never runs in a process that was told of the functions of another
  grant.
- A manifest names functions and their schemas, and holds no power: each call is decided by the
  broker, from the grant of its execution.
- One spare has no manifest, for sessions and for executions with another one.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from caps.protocol.transport import ChannelClosedError
from caps.worker.host.pool.spare import Spare
from caps.worker.host.supervisor.interface import Manifest

# Boyer and Moore's majority vote: each execution with the expected manifest is a vote for it, and
# each other one is a vote against it. Where no manifest has a majority, few spares are made that
# nobody can use.
_SURE_VOTES = 3
_MAX_VOTES = 8
# A worker begins its warm-up when it was idle for 30 ms, and needs some 5 for it.
_WARM_UP_SECONDS = 0.05
# Less than a socket takes in one piece.
_MAX_BYTES = 64 * 1024


class Stock:
    """Spares that nobody has taken, the oldest first, and the manifest that is expected."""

    def __init__(self) -> None:
        self._spares: deque[Spare] = deque()
        self._expected: Manifest | None = None
        self._votes = 0

    def __len__(self) -> int:
        return len(self._spares)

    def __iter__(self) -> Iterator[Spare]:
        return iter(self._spares)

    def note_use(self, manifest: Manifest | None) -> None:
        """An execution begins with this manifest, or a session (None), which may be a rare one."""
        expected = self._expected
        if manifest is not None and (manifest is expected or manifest == expected):
            if self._votes < _MAX_VOTES:
                self._votes += 1
        elif self._votes:
            self._votes -= 1
        elif manifest is not None and _can_be_early(manifest):
            self._expected, self._votes = manifest, 1
        else:
            self._expected = None

    def find(self, manifest: Manifest | None) -> Spare | None:
        """The oldest one that has this manifest, or else the oldest one that has none.

        The latter also if only it had the time for its warm-up, which saves more than a manifest.
        """
        without = found = None
        for spare in self._spares:
            early = spare.manifest
            if early is None:
                without = without or spare
            elif early is manifest or early == manifest:
                found = found or spare
        if found is None or without is None:
            return found or without
        warm_since = time.monotonic() - _WARM_UP_SECONDS
        return without if without.made_at <= warm_since < found.made_at else found

    def add(self, spare: Spare) -> None:
        """Add one, and send it the manifest that is surely expected if another one has none."""
        expected = self._expected if self._votes >= _SURE_VOTES else None
        if expected is not None and any(each.manifest is None for each in self._spares):
            spare = _send_early(expected, spare)
        self._spares.append(spare)

    def remove(self, spare: Spare) -> None:
        """The caller has it now."""
        self._spares.remove(spare)

    def pop(self) -> Spare:
        """Remove the newest one, but not the last one that has no manifest while others have."""
        without = [spare for spare in self._spares if spare.manifest is None]
        last = without[0] if len(without) == 1 < len(self._spares) else None
        spare = next(each for each in reversed(self._spares) if each is not last)
        self._spares.remove(spare)
        return spare

    def pop_unexpected(self) -> Spare | None:
        """Remove one whose manifest is not expected any more."""
        for spare in self._spares:
            if spare.manifest is not None and spare.manifest != self._expected:
                self._spares.remove(spare)
                return spare
        return None


def _can_be_early(manifest: Manifest) -> bool:
    encoded = manifest.capabilities
    if manifest.session or not isinstance(encoded, msgspec.Raw):
        return False
    return memoryview(encoded).nbytes <= _MAX_BYTES


def _send_early(manifest: Manifest, spare: Spare) -> Spare:
    # It names the channel. The id of the execution cannot be its name: nobody knows it yet.
    message = manifest.message(os.urandom(16).hex(), spare.connection)
    data = spare.connection.send(message)
    with suppress(ChannelClosedError):  # it has exited, which its execution finds out
        spare.worker.transport.send_now(data)
    return msgspec.structs.replace(spare, manifest=manifest)
