"""A spare: a worker that has locked itself in and waits for a manifest."""

from __future__ import annotations

import msgspec

from caps.protocol.connection import HostConnection
from caps.protocol.messages import ReadyMessage
from caps.worker.host.process.worker import Worker


class Spare(msgspec.Struct, frozen=True):
    """A worker, its channel, and what it said when it was ready."""

    worker: Worker
    connection: HostConnection
    ready: ReadyMessage
