"""What one run of a session has from its session, and who may run it."""

from __future__ import annotations

from typing import Protocol

import msgspec

from caps.capabilities.broker.idempotency import KeyedAnswers
from caps.protocol.enforcement import Layer
from caps.protocol.messages import ResultMessage
from caps.worker.host.supervisor.supervisor import CallHandler, Job, OutputHandler


class Runner(Protocol):
    """Who runs a job in a worker: the pool, or the lease of a session."""

    @property
    def layers(self) -> tuple[Layer, ...]: ...

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """As `WorkerPool.run`."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A run as a part of its session: the channel and the idempotency keys that it shares."""

    channel_id: str
    keys: KeyedAnswers
