"""(5) The states of one channel, and which message leads from one to another: a closed table."""

from __future__ import annotations

import enum

from caps.protocol.messages import (
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    CompiledMessage,
    CompileMessage,
    ManifestMessage,
    Message,
    OutputMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
    StreamItemMessage,
    StreamNextMessage,
)


class State(enum.Enum):
    BOOTING = "booting"  # the worker confines itself
    READY = "ready"  # it waits for a manifest
    COMPILING = "compiling"  # it compiles, and runs nothing
    PREPARED = "prepared"  # it has built `caps`
    STARTING = "starting"  # it has the code and compiles it
    RUNNING = "running"  # user code runs
    DONE = "done"  # the result was sent
    FAILED = "failed"  # the peer broke the protocol

    # Faster than that of `Enum`: members are singletons, and each message looks one up.
    __hash__ = object.__hash__


TRANSITIONS: dict[tuple[State, type[Message]], State] = {
    (State.BOOTING, ReadyMessage): State.READY,
    (State.READY, ManifestMessage): State.PREPARED,
    # A worker either compiles or runs code: compiled programs are accepted only from a worker that
    # has run nothing.
    (State.READY, CompileMessage): State.COMPILING,
    (State.COMPILING, CompiledMessage): State.DONE,
    (State.PREPARED, StartMessage): State.STARTING,
    (State.STARTING, StartedMessage): State.RUNNING,
    (State.STARTING, ResultMessage): State.DONE,  # it did not compile
    (State.RUNNING, CapabilityRequestMessage): State.RUNNING,
    (State.RUNNING, CapabilityResponseMessage): State.RUNNING,
    (State.RUNNING, StreamItemMessage): State.RUNNING,
    (State.RUNNING, StreamNextMessage): State.RUNNING,
    (State.RUNNING, OutputMessage): State.RUNNING,
    (State.RUNNING, ResultMessage): State.DONE,
    # An answer or an item may be on its way while the result is sent.
    (State.DONE, CapabilityResponseMessage): State.DONE,
    (State.DONE, StreamItemMessage): State.DONE,
}

# The channel of a session stays open: its worker runs one cell after another, in one user space.
SESSION_TRANSITIONS: dict[tuple[State, type[Message]], State] = {
    **TRANSITIONS,
    (State.DONE, StartMessage): State.STARTING,
}
