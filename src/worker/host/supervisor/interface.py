"""What a supervisor is given: a job, and who answers the calls that its code makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from caps.protocol.messages import (
    CallFailure,
    CapabilityRequestMessage,
    ManifestEntry,
    WorkerLimits,
)
from caps.worker.host.process.worker import Used
from caps.worker.host.supervisor.wall_clock import WallClock


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is asked to do, and the bounds that the host holds it to.

    `execution_id` names the channel: in a session it is the same for every cell.
    """

    execution_id: str
    namespace: str
    policy_id: str
    manifest: tuple[ManifestEntry, ...]
    source: str
    filename: str
    wall_ms: int
    output_bytes: int
    most_requests: int
    worker_limits: WorkerLimits
    clock: WallClock = msgspec.field(default_factory=WallClock)
    check: bool = False
    session: bool = False
    manifest_bytes: msgspec.Raw | None = None
    """`manifest` as it travels, if somebody has encoded it before."""


class Answer(msgspec.Struct, frozen=True):
    """What the handler says to one request."""

    result: object = None
    failure: CallFailure | None = None


class TakenUp:
    """Requests that came together, as far as their handler answers them together.

    As it is, that is none of them; a handler that does more has a class of its own.
    """

    def __init__(self, requests: int) -> None:
        self._requests = requests

    @property
    def answers(self) -> list[Answer | None]:
        """None stands for what the handler is to `handle` by itself, in a task of its own."""
        return [None] * self._requests

    def advance(self) -> bool:
        """Go on as far as nothing has to be waited for; whether that is the end of it."""
        return True

    async def finish(self) -> None:
        """Go on to the end, and wait where that is needed."""

    async def give_up(self) -> None:
        """Their execution is over before the end was reached: record what has to be."""

    def conclude(self) -> None:
        """The answers are on their way, or never will be. Called once, whatever happened."""


class CallHandler(Protocol):
    """Who answers the requests of one execution: the broker."""

    def begin(self) -> None:
        """The code is handed over now; the execution's clock starts."""

    async def handle(self, request: CapabilityRequestMessage) -> Answer:
        """The answer to one request. Raises nothing that the worker could provoke."""

    def take_up(self, requests: Sequence[CapabilityRequestMessage]) -> TakenUp:
        """Begin to answer those of `requests` that wait for nothing but their evidence."""

    def end(self, used: Used | None) -> None:
        """The worker is gone; what the code used of it, if that is known."""


OutputHandler = Callable[[str], None]
