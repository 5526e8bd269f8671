"""(8) The closed set of audit events, and the record that each event becomes.

Callers build an *event*. The log turns it into a *record* by adding the envelope (`v`, `seq`, `ts`,
`prev`, `hash`); on disk both are one flat JSON object. The values are restricted so that their
canonical form is unambiguous: no floats (durations are integer microseconds), integers within
2**53, ASCII field names, and an absent value is an absent field. `sanitize.py` enforces this.
"""

from __future__ import annotations

import enum
import functools
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import ClassVar, Final, Literal, get_args

import msgspec

from caps.protocol.ways import Via

RECORD_VERSION: Final = 2
ENVELOPE_FIELDS: Final = ("v", "seq", "ts", "kind", "prev", "hash")

# Marks where the chain inserts a value into an encoded record; see `chain.py`.
GAP: Final = msgspec.Raw(b"\0")

# One record without its newline. Longer lines are neither written nor read.
MAX_LINE_BYTES: Final = 1024 * 1024

ShownValue = str | int | bool | None


class CallStatus(enum.Enum):
    """How one capability call ended."""

    OK = "ok"
    DENIED = "denied"
    INVALID_OUTPUT = "invalid_output"
    PROVIDER_ERROR = "provider_error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    REPLAYED = "replayed"


class ExecutionStatus(enum.Enum):
    """How one execution ended."""

    OK = "ok"
    CODE_FAILED = "code_failed"
    POLICY_REFUSED = "policy_refused"
    LIMIT = "limit"
    PROTOCOL_VIOLATION = "protocol_violation"
    WORKER_LOST = "worker_lost"
    CANCELLED = "cancelled"
    HOST_FAILED = "host_failed"


class ApprovalOutcome(enum.Enum):
    """How an approval request ended."""

    GIVEN = "given"
    DENIED = "denied"
    TIMED_OUT = "timed_out"
    WITHDRAWN = "withdrawn"  # no call waits for it any more: revoked, ended, or covered by another


class _EventBase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Base of all events; a field that is None is left out of the record."""

    # What the encoder inserts for each of `ENVELOPE_FIELDS`. These are not fields of an event: the
    # shapes of `sanitize.py` read them by name from the event, in the same pass as its fields.
    _envelope_v: ClassVar[int] = RECORD_VERSION
    _envelope_seq: ClassVar[msgspec.Raw] = GAP
    _envelope_ts: ClassVar[msgspec.Raw] = GAP
    _envelope_prev: ClassVar[msgspec.Raw] = GAP
    _envelope_hash: ClassVar[msgspec.Raw] = GAP

    # The tag, set below. Not a property: the encoder swallows what a property raises, even an
    # interrupt.
    _envelope_kind: ClassVar[str] = ""


class _ExecutionEvent(_EventBase, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Base of the events of one execution: which one, and for whom it ran."""

    execution_id: str
    principal: str
    agent: str | None = None
    session: str | None = None
    degraded: str | None = None
    """The layers that were not fully in force, if the operator let it run anyway."""
    via: Via = "code"
    """How the request reached Caps; absent for `code`, which runs in a worker."""
    trace_id: str | None = None
    span_id: str | None = None
    """The trace and span of the same event in OpenTelemetry, if it was traced."""


class Withheld(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A capability that exists and was not granted."""

    capability: str
    reason: str
    policy_id: str | None = None
    """The policy that withheld it, if the grant rests on several."""


class PolicyName(msgspec.Struct, frozen=True, kw_only=True):
    """A policy revision."""

    id: str
    sha256: str


class ExecutionStarted(_ExecutionEvent, frozen=True, kw_only=True, tag="execution_started"):
    """Code is about to run under this grant, with these layers in force."""

    policy_id: str
    policy_sha256: str
    source_sha256: str
    granted: list[str]
    withheld: list[Withheld]
    isolation: dict[str, str]
    modules: list[str] = []
    """Real modules that the policy granted: the language layer gives no guarantee for it."""
    mode: Literal["learn"] | None = None
    """`learn`: user space could call withheld capabilities, and each such call was refused."""
    terms_sha256: str | None = None
    """Digest of the policy and the targets of its scopes, with relative paths made absolute."""
    inputs: dict[str, str] = {}
    """For each value that was given to the code, its name and a digest."""
    signed_seq: int | None = None
    """The newest record of the log that a durable checkpoint signed when this was written."""
    policies: list[PolicyName] = []
    """All policies of a grant that rests on several, of which each must allow. `policy_id` is the
    last of them, and `terms_sha256` is the digest of all."""
    parent: str | None = None
    """`<execution id>/<request id>` of the call that runs this code, if a call does."""


class DecisionMade(_ExecutionEvent, frozen=True, kw_only=True, tag="decision_made"):
    """The broker decided about one call; on disk before the call has any effect."""

    request_id: str
    capability: str
    decision: Literal["allow", "deny"]
    reason: str
    rule: str | None = None
    message: str
    nearest: str | None = None
    policy_id: str
    policy_sha256: str
    args_hmac: str
    shown: dict[str, ShownValue]
    hidden: dict[str, str]
    idempotency_key_hmac: str | None = None
    approval: str | None = None
    """The approval that covers the call."""
    dry_run_rule: str | None = None
    """The `deny` rule that would have refused the call if it were in force."""
    dry_run_policy: str | None = None
    """The id of the policy with that rule, if it is not `policy_id`."""
    labels: list[str] = []
    """The labels of what its channel had been answered when the request was received."""
    parent: str | None = None
    """The `request_id` of the call whose provider makes this one, if a provider does."""


class ArtifactRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A file or picture that a call handed out: what it is, and never its bytes."""

    name: str
    media_type: str
    size: int
    sha256: str


class OutcomeRecorded(_ExecutionEvent, frozen=True, kw_only=True, tag="outcome_recorded"):
    """The outcome of a call that was decided."""

    request_id: str
    capability: str
    status: CallStatus
    reason: str | None = None
    detail: str | None = None
    duration_us: int
    bytes_out: int
    labels: list[str] = []
    """The labels of the answer."""
    items: int | None = None
    """For a stream, how many items were sent; `bytes_out` is their size."""
    artifacts: list[ArtifactRecord] = []
    """What the call handed out, whether or not it succeeded in the end."""
    signed_seq: int | None = None
    """As in `ExecutionStarted`; only if its writer has not said so in an earlier record."""


class ProtocolViolated(_ExecutionEvent, frozen=True, kw_only=True, tag="protocol_violated"):
    """The worker sent something that an honest worker never sends."""

    violation: str
    message: str


class LimitReached(_ExecutionEvent, frozen=True, kw_only=True, tag="limit_reached"):
    """A bound of the policy's `limits` was reached."""

    limit: str
    allowed: int
    """Of `cost` in millionths: records have no floats."""
    message: str


class ExecutionEnded(_ExecutionEvent, frozen=True, kw_only=True, tag="execution_ended"):
    """The execution ended."""

    status: ExecutionStatus
    error_code: str | None = None
    error_message: str | None = None
    duration_us: int
    calls: int
    output_bytes: int
    cpu_us: int | None = None
    max_rss_kb: int | None = None
    signed_seq: int | None = None
    """As in `ExecutionStarted`."""


class GrantRevoked(_ExecutionEvent, frozen=True, kw_only=True, tag="grant_revoked"):
    """Capabilities were taken back from an execution, or a session, while it ran."""

    rule: str
    capabilities: list[str]
    by: str | None = None
    note: str | None = None
    """The reason that the person gave."""


class ApprovalRequested(_ExecutionEvent, frozen=True, kw_only=True, tag="approval_requested"):
    """A call waits for a person."""

    approval: str
    request_id: str
    capability: str
    rule: str
    policy_id: str
    policy_sha256: str
    args_hmac: str
    shown: dict[str, ShownValue]
    hidden: dict[str, str]
    timeout_ms: int


class ApprovalSettled(_ExecutionEvent, frozen=True, kw_only=True, tag="approval_settled"):
    """How an approval request ended; who answered, and what the answer covers."""

    approval: str
    request_id: str
    capability: str
    outcome: ApprovalOutcome
    by: str | None = None
    note: str | None = None
    """The reason that the person gave."""
    calls: int | None = None
    seconds: int | None = None
    reach: str | None = None


class PolicyLoaded(_EventBase, frozen=True, kw_only=True, tag="policy_loaded"):
    """A policy was put in force, or refused."""

    policy_id: str
    policy_sha256: str
    source: str
    status: Literal["accepted", "refused"]
    message: str | None = None
    terms_sha256: str | None = None
    """As in `ExecutionStarted`; absent if the policy was refused."""


AdminActionName = Literal[
    "tool_card_publish",
    "tool_cards_seed",
    "tool_cards_resign",
    "signing_key_activate",
    "signing_key_rotate",
    "signing_key_revoke",
    "policy_activate",
]


class AdminAction(_EventBase, frozen=True, kw_only=True, tag="admin_action"):
    """Somebody changes what others rely on: recorded before it begins, and when it has ended."""

    principal: str
    via: Via = "call"
    action: AdminActionName
    subject: str
    """The name of the card, key, policy or agent."""
    status: Literal["begun", "done", "failed"]
    sha256: str | None = None
    """The digest of the new content, if it has one."""
    message: str | None = None
    """What came of it."""


class LogOpened(_EventBase, frozen=True, kw_only=True, tag="log_opened"):
    """The first record of a log."""

    writer: str
    host_software: str


class LogRecovered(_EventBase, frozen=True, kw_only=True, tag="log_recovered"):
    """A writer had crashed during a write; the partial line that it left was dropped."""

    dropped_bytes: int
    dropped_sha256: str


class SegmentClosed(_EventBase, frozen=True, kw_only=True, tag="segment_closed"):
    """The last record of a file; the log continues in the next one."""

    reason: Literal["size", "age"]


class SegmentOpened(_EventBase, frozen=True, kw_only=True, tag="segment_opened"):
    """The first record of every file after the first: which log it is, and what it continues."""

    log: str
    segment: int
    previous: str
    previous_seq: int
    previous_hash: str
    signed_seq: int | None = None
    """As in `ExecutionStarted`."""


class KeyRotated(_EventBase, frozen=True, kw_only=True, tag="key_rotated"):
    """From here on another key signs; `signature` is that of the old key over the new one."""

    old_key_id: str
    new_key_id: str
    new_public_key: str
    signature: str
    signed_seq: int | None = None
    """As in `ExecutionStarted`."""


class SinkFailed(_EventBase, frozen=True, kw_only=True, tag="sink_failed"):
    """A sink stopped taking records; if it is required, calls are refused until it recovers."""

    sink: str
    mode: Literal["required", "best_effort"]
    message: str


class SinkRecovered(_EventBase, frozen=True, kw_only=True, tag="sink_recovered"):
    """A sink takes records again: it never got `dropped` of them, and got `resent` late."""

    sink: str
    mode: Literal["required", "best_effort"]
    dropped: int
    resent: int


AuditEvent = (
    ExecutionStarted
    | DecisionMade
    | OutcomeRecorded
    | ProtocolViolated
    | LimitReached
    | ExecutionEnded
    | GrantRevoked
    | ApprovalRequested
    | ApprovalSettled
    | PolicyLoaded
    | AdminAction
    | LogOpened
    | LogRecovered
    | SegmentClosed
    | SegmentOpened
    | KeyRotated
    | SinkFailed
    | SinkRecovered
)

# The kinds that say which record is signed, so that a reader notices that checkpoints are lost.
# They are rare, and do not belong to single calls. The log itself sets `signed_seq`, and also in
# the first outcome after each checkpoint: a program may make calls and run no code.
CHECKPOINT_WITNESSES: Final = (ExecutionStarted, ExecutionEnded, SegmentOpened, KeyRotated)

for _kind in get_args(AuditEvent):
    _kind._envelope_kind = str(_kind.__struct_config__.tag)  # noqa: SLF001 - of this module


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its place in the chain."""

    seq: int
    ts: str
    prev: str
    hash: str
    event: AuditEvent
    v: int = RECORD_VERSION


def kind_of(event: AuditEvent) -> str:
    """Return the value of the field `kind` of this event."""
    return event._envelope_kind  # noqa: SLF001 - of this module


def timestamp() -> str:
    """Return the time now as RFC 3339 in UTC with microseconds."""
    now = time.time_ns() // 1000
    return f"{_format_second(now // 1_000_000)}.{str(now)[-6:]}Z"


def timestamps(nanoseconds: Iterable[int]) -> list[str]:
    """Return these times, in nanoseconds since 1970, as `timestamp` returns the time now."""
    return [f"{_format_second(ns // 1_000_000_000)}.{str(ns)[-9:-3]}Z" for ns in nanoseconds]


def is_timestamp(ts: str) -> bool:
    """Whether `ts` is a time as `timestamp` returns it, so that it can be computed with."""
    try:
        moment = datetime.fromisoformat(ts)
        return ts.endswith("Z") and moment.timestamp() >= 0
    except (ValueError, OverflowError):
        return False


@functools.lru_cache(maxsize=4)
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
