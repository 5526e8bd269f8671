"""What a supervisor is given: a job, and the handler of the calls that its code makes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from caps.protocol.connection import HostConnection
from caps.protocol.messages import (
    CallFailure,
    CapabilityRequestMessage,
    ManifestEntry,
    ManifestMessage,
    WorkerLimits,
)
from caps.worker.host.process.worker import ResourceUsage
from caps.worker.host.supervisor.wall_clock import WallClock


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker has to do, and the bounds that the host enforces on it.

    `execution_id` names the channel: in a session it is the same for every cell. A worker that got
    its manifest before the job was known has a channel with a name of its own.
    """

    execution_id: str
    namespace: str
    policy_id: str
    manifest: tuple[ManifestEntry, ...]
    source: str
    filename: str
    wall_ms: int
    output_bytes: int
    max_requests: int
    worker_limits: WorkerLimits
    owner: str = ""
    """Whose share of the workers it uses: the principal."""
    clock: WallClock = msgspec.field(default_factory=WallClock)
    check: bool = False
    session: bool = False
    manifest_bytes: msgspec.Raw | None = None
    """`manifest` in its encoded form, if the caller has encoded it already."""
    made_manifest: Manifest | None = None
    """`Manifest.of` this job, if the caller has made it already for others like it."""
    inputs: bytes = b""
    argv: tuple[str, ...] | None = None
    modules: tuple[str, ...] = ()
    """The real modules that the code is granted."""


class Manifest(msgspec.Struct, frozen=True):
    """What a worker is told of a grant before it gets code."""

    namespace: str
    policy_id: str
    capabilities: msgspec.Raw | tuple[ManifestEntry, ...]
    session: bool

    @classmethod
    def of(cls, job: Job) -> Manifest:
        """That of `job`, encoded if the caller has encoded it already."""
        if job.made_manifest is not None:
            return job.made_manifest
        encoded = job.manifest_bytes
        entries = job.manifest if encoded is None else encoded
        return cls(job.namespace, job.policy_id, entries, job.session)

    def message(self, channel_id: str, connection: HostConnection) -> ManifestMessage:
        """The next message on a channel, which it names."""
        entries: Any = self.capabilities  # the encoder accepts both forms
        return ManifestMessage(
            execution_id=channel_id,
            namespace=self.namespace,
            policy_id=self.policy_id,
            capabilities=entries,
            session=self.session,
            **connection.stamp(),
        )


class CallResponse(msgspec.Struct, frozen=True):
    """The handler's response to one request."""

    result: object = None
    failure: CallFailure | None = None


SENT = CallResponse()
"""In place of an answer that was passed on already."""

SendAnswers = Callable[[list[CallResponse | None]], Awaitable[None]]


class RequestBatch:
    """A batch of requests received in one read. The base class handles none of them inline."""

    def __init__(self, requests: int, answered: frozenset[str] = frozenset()) -> None:
        self._requests = requests
        self.answered = answered
        """What the worker may have known when it sent them: marks of the handler's own."""

    @property
    def answers(self) -> list[CallResponse | None]:
        """None stands for a request that needs `CallHandler.answer`, in a task of its own."""
        return [None] * self._requests

    def step_sync(self) -> bool:
        """Take all steps that need no waiting; True if that finished the batch."""
        return True

    async def drive(self, send: SendAnswers) -> None:
        """Take the remaining steps, waiting where needed.

        If the answers are large, `send` gets those that are ready, and None for the others. From
        then on `answers` has `SENT` in their place.
        """

    async def abandon(self) -> None:
        """The execution ended before the batch did: record what must be recorded."""

    def close(self) -> None:
        """The answers were sent, or never will be. Called once, whatever happened."""


class ItemSink(Protocol):
    """Takes the items of one stream, for the code that reads it."""

    async def send(self, item: msgspec.Raw) -> None:
        """Send one item, and wait until the code wants the next one. Safe to cancel."""

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the code wants no more items; now, if that was before."""


class CallHandler(Protocol):
    """Answers the requests of one execution: the broker."""

    def begin(self) -> None:
        """The code is sent now; the execution's clock starts."""

    def prepare(self, request: CapabilityRequestMessage) -> CapabilityRequestMessage:
        """The same request with its payload hashed. Runs in a thread, and changes nothing."""

    async def answer(
        self,
        request: CapabilityRequestMessage,
        answered: frozenset[str],
        *,
        sink: ItemSink | None = None,
    ) -> CallResponse:
        """The answer to one request of a batch with this `answered`; `sink` gets items before it.

        Raises nothing that the worker could provoke.
        """

    def answer_one(
        self, request: CapabilityRequestMessage, keep: Callable[[RequestBatch], None]
    ) -> CallResponse | None:
        """The answer to a request that came alone, if it waits for nothing. Outside any task.

        None if it may have to wait: then `keep` was called with its batch. It is called before an
        interrupt is raised, too, if there is anything left to record.
        """

    def begin_batch(self, requests: Sequence[CapabilityRequestMessage]) -> RequestBatch:
        """Begin to answer those of `requests` that wait for nothing but their audit records."""

    def end(self, used: ResourceUsage | None) -> None:
        """The execution ended. `used` is what the code used, if that is known."""


OutputHandler = Callable[[str], None]
