"""(3) What an execution is given, checked before anything is recorded, and what its worker gets."""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from caps.capabilities.artifacts import Artifact
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.broker.flow import FlowState
from caps.capabilities.broker.idempotency import IdempotencyCache
from caps.capabilities.chain import PolicyChain
from caps.capabilities.grant import Grant
from caps.capabilities.identity import Identity
from caps.capabilities.runtime.inputs import NO_INPUTS, EncodedInputs
from caps.protocol.messages import REFUSED_REQUEST_MARGIN, WorkerLimits
from caps.worker.host.supervisor.interface import Job, Manifest

# What a message to the worker can have of it; code is shown it in errors.
_MAX_POLICY_IDS = 256


class SessionChannel(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of a session share: the channel, the idempotency keys, what was read."""

    channel_id: str
    keys: IdempotencyCache
    flow: FlowState


class ParentCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call whose provider runs code, and the broker of its execution."""

    broker: ExecutionBroker
    request_id: str

    @property
    def id(self) -> str:
        """As the record of the nested execution names it."""
        return f"{self.broker.grant.execution_id}/{self.request_id}"


class ExecutionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The code to run, and its caller."""

    source: str
    filename: str
    identity: Identity
    on_output: Callable[[str], None] | None
    check: bool = False
    on_start: Callable[[str], None] | None = None
    """Gets the execution's id once its start is recorded."""
    on_decision: Callable[[DecisionSummary], None] | None = None
    on_artifact: Callable[[Artifact], None] | None = None
    channel: SessionChannel | None = None
    """That of the session; None: the execution has a channel of its own."""
    inputs: EncodedInputs = NO_INPUTS
    argv: tuple[str, ...] | None = None
    flow: FlowState | None = None
    """What was read so far, by it and by the execution that it is nested in."""
    parent: ParentCall | None = None
    """The call that runs it, if a provider does."""

    def __post_init__(self) -> None:
        """Raise TypeError unless source and filename are strings, before anything is recorded."""
        for name, value in (("source", self.source), ("filename", self.filename)):
            if not isinstance(value, str):
                raise TypeError(f"{name} must be a `str`, not `{type(value).__name__}`")


@functools.lru_cache(maxsize=64)
def job_under(chain: PolicyChain, namespace: str, learning: bool, session: bool) -> Job:
    """What the jobs of all executions under these policies have in common.

    A budget lowers only the limit `cost` of a grant, which no job has.
    """
    grant = Grant(execution_id="", namespace=namespace, chain=chain, learning=learning)
    limits = chain.limits
    job = Job(
        execution_id="",
        namespace=namespace,
        policy_id=chain.policy_ids[:_MAX_POLICY_IDS],
        manifest=grant.manifest,
        manifest_bytes=grant.manifest_bytes,
        source="",
        filename="",
        wall_ms=limits.wall_ms,
        session=session,
        output_bytes=limits.output_bytes,
        max_requests=limits.calls + REFUSED_REQUEST_MARGIN,
        worker_limits=WorkerLimits(
            cpu_ms=limits.cpu_ms,
            memory_mb=limits.memory_mb,
            concurrency=limits.concurrency,
            calls=limits.calls,
        ),
        modules=chain.modules,
    )
    return replace(job, made_manifest=Manifest.of(job))
