"""What the service answers, as frozen values. Fields that a newer service adds are ignored."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final, Generic, TypeVar

import msgspec

T = TypeVar("T")

UNFINISHED: Final = frozenset({"queued", "running"})


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A function as a model sees it."""

    key: str
    name: str
    description: str
    function: str
    """What code calls: `files.read`."""


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    """What can be given to an agent. A list has the first six fields only."""

    id: str
    name: str
    description: str
    status: str
    icon: str | None
    category: str | None
    version: str | None = None
    depends_on: tuple[str, ...] = ()
    system_prompt: str | None = None
    tools: tuple[Tool, ...] = ()
    config_schema: dict[str, Any] | None = None


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A stored agent. `etag` is known if it was read by itself, and not in a list."""

    id: str
    name: str
    description: str
    system_prompt: str
    status: str
    capabilities: list[Any] | dict[str, Any]
    """In the form in which they were given."""
    policy: dict[str, Any] | None
    created_by: str
    revision: int
    created_at: dt.datetime
    updated_at: dt.datetime
    etag: str | None = None


class EffectiveAgent(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is given as an agent, under the policies that are in force now."""

    id: str
    system_prompt: str
    tools: tuple[dict[str, Any], ...]
    withheld: tuple[str, ...]
    """The keys of tools that the operator's policy does not allow."""
    policy: dict[str, Any]
    stubs: str
    warnings: tuple[str, ...]


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


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for a person."""

    id: str
    execution_id: str
    principal: str
    agent: str | None = None
    session: str | None = None
    request_id: str
    capability: str
    title: str = ""
    rule: str
    policy_id: str
    policy_sha256: str
    shown: dict[str, Any]
    hidden: tuple[str, ...]
    """The names of the arguments that are not shown."""
    asked_at: str
    expires_at: str


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How a waiting call was answered."""

    id: str
    allowed: bool
    by: str
    reason: str | None = None


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an audit log is sound (`status` is `ok`), and if not, where it breaks."""

    status: str
    message: str
    records: int = 0
    segments: int = 0
    head_seq: int = 0
    head_hash: str = ""
    checkpoints: int = 0
    signed_seq: int = 0
    bad_file: str | None = None
    bad_line: int | None = None
    bad_seq: int | None = None


class PolicyInForce(msgspec.Struct, frozen=True, kw_only=True):
    """One of the operator's policies. `sha256` names it when it is replaced."""

    id: str
    sha256: str
    terms_sha256: str
    can_be_replaced: bool
    policy: dict[str, Any]


class ToolCard(msgspec.Struct, frozen=True, kw_only=True):
    """The signed description of one version of a tool. `problem` says why one is not valid."""

    name: str
    version: str
    description: str | None = None
    agent_type: str | None = None
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    cost_estimate: float | None = None
    side_effects: Any = None
    checksum: str | None = None
    signature: str | None = None
    key_id: str | None = None
    alg: str | None = None
    problem: str | None = None


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list. `next_cursor` is None on the last one."""

    items: tuple[T, ...]
    next_cursor: str | None = None
