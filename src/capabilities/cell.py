"""What one run of a session has from its session, and who may run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from caps.capabilities.broker import KeyedAnswers
from caps.protocol.enforcement import Layer
from caps.protocol.errors import LimitExceededError
from caps.protocol.messages import ResultMessage
from caps.worker.host.supervisor import CallHandler, Job, OutputHandler


class Runner(Protocol):
    """Who runs a job in a worker: the pool, or the lease of a session."""

    @property
    def layers(self) -> tuple[Layer, ...]: ...

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """As `WorkerPool.run`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A run as a part of its session. `ms_left` and `wall_ms` bound the session's own life."""

    channel_id: str
    ms_left: int
    wall_ms: int
    keys: KeyedAnswers

    def explained(self, error: LimitExceededError, job: Job) -> LimitExceededError:
        """The same error, if it was the run's own clock; else one that names the session's."""
        if error.limit != "wall_ms" or job.wall_ms < self.ms_left:
            return error
        return LimitExceededError(
            f"the session lived for its {self.wall_ms} ms; open it with a larger `wall_ms` if it "
            "may live longer",
            **{**error.details, "limit": "session_wall_ms", "allowed": self.wall_ms},
        )
