"""A spare: a worker that has locked itself in and waits for a manifest."""

from __future__ import annotations

from dataclasses import dataclass

from caps.protocol.connection import HostConnection
from caps.protocol.messages import ReadyMessage
from caps.worker.host.process import Worker


@dataclass(frozen=True, slots=True)
class Spare:
    """A worker, its channel, and what it said when it was ready."""

    worker: Worker
    connection: HostConnection
    ready: ReadyMessage
