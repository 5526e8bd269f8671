"""Executions and calls: how they stand, what happens in them, how they end."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

import msgspec

UNFINISHED: Final = frozenset({"queued", "running"})


class CallFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call failed."""

    code: str
    type: str
    message: str
    details: dict[str, Any] = {}


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why code failed. `line` and the fields after it refer to the user's code."""

    code: str
    type: str
    message: str
    filename: str | None = None
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    source_line: str | None = None
    hint: str | None = None
    traceback: str = ""
    details: dict[str, Any] = {}
    frames: tuple[dict[str, Any], ...] = ()


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution used."""

    duration_ms: float
    calls: int
    output_bytes: int
    cpu_ms: float | None
    max_rss_kb: int | None


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """An artifact; its content is decoded from base64."""

    name: str
    media_type: str
    size: int
    sha256: str
    content: bytes = b""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How code ended: what `caps run --json` prints, in the same order."""

    execution_id: str
    ok: bool
    status: str
    started: bool
    value_is_repr: bool
    stdout: str
    error: Failure | None
    usage: Usage
    decisions: tuple[dict[str, Any], ...]
    artifacts: tuple[Artifact, ...]
    note: str | None
    value: Any
    value_spelling: str
    """Whether `value` is `exact`, was `converted` for JSON, or is a `repr`."""
    value_shown: str | None = None
    """The `repr` of a value that was converted."""

    def as_json(self) -> dict[str, Any]:
        """The object of `caps run --json`."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        del document["value_shown"]
        return document


class PlanStep(msgspec.Struct, frozen=True, kw_only=True):
    """How one step of a plan ended."""

    id: str
    function: str
    status: str
    value: Any = None
    value_omitted: bool = False
    """It succeeded, and its value did not fit into the result."""
    error: dict[str, Any] | None = None


class PlanResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan ended. `value` is the output of its last step, if all succeeded."""

    plan: str
    execution_id: str
    ok: bool
    value: Any
    steps: tuple[PlanStep, ...]


class PlanCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a check of a plan found."""

    valid: bool
    cost: float | None
    problems: tuple[dict[str, Any], ...]


class EndedWithout(msgspec.Struct, frozen=True, kw_only=True):
    """Why an execution has no result: it could not be run, was cancelled, or was lost."""

    code: str
    message: str


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """Where an execution stands. `result` is None in lists, and until there is one."""

    id: str
    principal: str
    agent_id: str | None
    session: str | None
    status: str
    source_sha256: str
    started: bool
    created_at: dt.datetime
    ended_at: dt.datetime | None = None
    error: EndedWithout | None = None
    result: Result | None = None
    plan_result: PlanResult | None = None
    """Instead of `result`, of an execution that is the run of a plan."""

    @property
    def is_ended(self) -> bool:
        return self.status not in UNFINISHED


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event of an execution: started, output, decision, artifact, finished."""

    number: int
    kind: str
    data: dict[str, Any]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """How a single call ended; a refusal is an `error`."""

    execution_id: str
    request_id: str
    capability: str
    ok: bool
    value: Any
    error: CallFailure | None
    decision: dict[str, Any] | None
    artifacts: tuple[Artifact, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The object of `caps call --json`."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document
