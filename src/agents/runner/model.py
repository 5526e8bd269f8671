"""One run of an agent: what it is told, what bounds it, and what comes of it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import msgspec

from caps.protocol.argument_checks import require, require_int
from caps.protocol.ways import Via
from caps.store.repositories.threads import NewMessage

MAX_MESSAGE_CHARACTERS: Final = 256 * 1024
_DAY_MS: Final = 24 * 60 * 60 * 1000
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class CallMode(enum.StrEnum):
    """How the model uses its capabilities."""

    TOOLS = "tools"
    """It calls them one by one."""
    CODE = "code"
    """It has one tool, `execute_code`, and calls them in code."""


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one run, in addition to those of the policies for each call and execution."""

    max_turns: int = 30
    """Requests to the model."""
    max_tool_calls: int = 200
    max_tokens: int = 1_000_000
    """Of all requests and responses together, as the model counts them."""
    wall_ms: int = 10 * 60 * 1000
    history_messages: int = 200
    """How many earlier messages of its thread the model gets, and of how many characters."""
    history_characters: int = 200_000
    result_characters: int = 20_000
    """Of one tool call, as the model gets it."""

    def __post_init__(self) -> None:
        for name, minimum, maximum in (
            ("max_turns", 1, 10_000),
            ("max_tool_calls", 0, 100_000),
            ("max_tokens", 1, 2**53),
            ("wall_ms", 1, _DAY_MS),
            ("history_messages", 0, 10_000),
            ("history_characters", 0, 10_000_000),
            ("result_characters", 200, 1_000_000),
        ):
            require_int(name, getattr(self, name), minimum, maximum)


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """For whom and how an agent runs. Set by the embedding program, never by a model."""

    principal: str = "anonymous"
    thread: UUID | None = None
    """The thread to continue; None: a new one."""
    session: str | None = None
    """By default the thread's own: whose files it has, and what was read in it before."""
    keep: bool = True
    """Whether the thread is stored, if the runner has a store."""
    silent: bool = False
    """Nobody follows the run, so the agent gets `notify_user`."""
    mode: CallMode = CallMode.TOOLS
    via: Via = "call"
    limits: RunLimits = RunLimits()
    callbacks: Mapping[str, Callable[..., Any]] = _NOTHING
    """For resolvers; `notify_user` gets the messages of a silent run, awaited if it is async."""
    workspace_dir: str = ""
    agent_dir: str = ""

    def __post_init__(self) -> None:
        thread, limits, session = self.thread, self.limits, self.session
        require(isinstance(self.principal, str), "principal", self.principal, "a `str`")
        fits = session is None or isinstance(session, str)
        require(fits, "session", session, "a `str`, or None")
        require(thread is None or isinstance(thread, UUID), "thread", thread, "a `UUID`, or None")
        require(isinstance(self.mode, CallMode), "mode", self.mode, "a `CallMode`")
        require(isinstance(limits, RunLimits), "limits", limits, "`RunLimits`")


class RunStatus(enum.StrEnum):
    """How a run ended."""

    ANSWERED = "answered"
    TURN_LIMIT = "turn_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105 - not a password
    TOOL_CALL_LIMIT = "tool_call_limit"
    TIME_LIMIT = "time_limit"
    FAILED = "failed"
    """The model could not be asked; `error` says what a caller may know."""


class TokensUsed(msgspec.Struct, frozen=True, kw_only=True):
    """As the model counts them."""

    input: int = 0
    output: int = 0


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one run."""

    status: RunStatus
    answer: str
    error: str | None
    thread_id: UUID | None
    """None if the thread is not stored."""
    session: str
    """The session that all records of the run name."""
    trace_id: str | None
    turns: int
    tool_calls: int
    tokens: TokensUsed
    notifications: tuple[str, ...]
    messages: tuple[NewMessage, ...]
    """What the run added to the thread."""
    labels: tuple[str, ...]
    """Of everything that the thread has been answered: the answer may hold it."""
    withheld: tuple[str, ...]
    """Tools that the agent lists and the policies in force do not grant."""
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.status is RunStatus.ANSWERED
