"""(5) The messages between host and worker: a closed set, frozen.

Two tagged unions, one for each direction, so that a side can decode only what the other side may
send. Every field has a bound; an unknown field or type is refused. `payload` and `result` hold
JSON-like data (null, booleans, 64-bit integers, finite floats, strings, arrays, string-keyed
objects); the depth of both is checked by the connection.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

PROTOCOL_VERSION = 1

# The longest program that is run, in bytes of UTF-8.
MAX_SOURCE_BYTES = 256 * 1024

# The largest compiled program that is cached; a larger one is compiled in the worker that runs it.
MAX_PROGRAM_BYTES = 4 * 1024 * 1024

ShortText = Annotated[str, Meta(min_length=1, max_length=256)]
CapabilityName = Annotated[str, Meta(min_length=3, max_length=129)]
Milliseconds = Annotated[int, Meta(ge=1, le=3_600_000)]
# Seconds since 1970. The bounds exclude infinity and NaN.
Timestamp = Annotated[float, Meta(ge=0, le=1e12)]


class Message(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"
):
    """The fields of every message. `id` is unique and in sequence in one channel and direction."""

    id: ShortText
    timestamp: Timestamp


class CapabilityRequestMessage(Message, frozen=True, kw_only=True, tag="capability_request"):
    """User space calls a capability. Nothing in it is trusted; the channel names the caller."""

    type: ClassVar[str] = "capability_request"
    request_id: ShortText
    capability: CapabilityName
    payload: dict[str, Any]
    idempotency_key: ShortText | None = None
    timeout_ms: Milliseconds | None = None


class CallFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a capability call failed: a code of `errors.CALL_ERRORS`, a line, and details."""

    code: ShortText
    message: str
    details: dict[str, Any] = {}


class CapabilityResponseMessage(Message, frozen=True, kw_only=True, tag="capability_response"):
    """The broker's answer to one request: a result, or a failure."""

    type: ClassVar[str] = "capability_response"
    request_id: ShortText
    result: Any = None
    failure: CallFailure | None = None


class StreamItemMessage(Message, frozen=True, kw_only=True, tag="stream_item"):
    """One item of a stream. The next is sent when the worker asks; a response ends the stream."""

    type: ClassVar[str] = "stream_item"
    request_id: ShortText
    item: Any = None


class StreamNextMessage(Message, frozen=True, kw_only=True, tag="stream_next"):
    """User space wants the next item; or, with `stop`, no more: then a response follows.

    A stop may also be sent while an item is awaited, and once for each request.
    """

    type: ClassVar[str] = "stream_next"
    request_id: ShortText
    stop: bool = False


_EMPTY_SCHEMA = msgspec.Raw(msgspec.msgpack.encode({}))


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One granted capability as user space may know it: nothing of its scope, nothing secret.

    Its schema stays encoded until the capability is used, since many are granted and few are used.
    """

    name: CapabilityName
    schema_in: msgspec.Raw
    title: str = ""
    description: str = ""
    schema_out: msgspec.Raw = _EMPTY_SCHEMA
    """The schema of the result, if it names types that JSON does not have; of an item, if it
    streams."""
    streams: bool = False

    @classmethod
    def of(
        cls,
        *,
        name: str,
        schema_in: dict[str, Any],
        title: str = "",
        description: str = "",
        schema_out: dict[str, Any] | None = None,
        streams: bool = False,
    ) -> ManifestEntry:
        """An entry with its schemas encoded."""
        return cls(
            name=name,
            schema_in=msgspec.Raw(msgspec.msgpack.encode(schema_in)),
            title=title,
            description=description,
            schema_out=msgspec.Raw(msgspec.msgpack.encode(schema_out or {})),
            streams=streams,
        )

    def schema(self) -> dict[str, Any]:
        """The schema of its payloads, decoded in each call."""
        return msgspec.msgpack.decode(self.schema_in, type=dict[str, Any])

    def result_schema(self) -> dict[str, Any] | None:
        """The schema of its result, decoded in each call; None if it is JSON-like data."""
        return msgspec.msgpack.decode(self.schema_out, type=dict[str, Any]) or None


class ManifestMessage(Message, frozen=True, kw_only=True, tag="manifest"):
    """What the code on this channel is granted. The worker builds `caps` from it.

    In a session, further starts may follow the first result; `execution_id` names the channel.
    """

    type: ClassVar[str] = "manifest"
    execution_id: ShortText
    namespace: ShortText
    policy_id: ShortText
    capabilities: list[ManifestEntry]
    session: bool = False


# So many requests over `limits.calls` are answered, with a refusal. A worker refuses the rest by
# itself, so one that sends more ignores the refusals on purpose.
REFUSED_REQUEST_MARGIN = 64
MAX_CALLS = 1_000_000


# Code that the host interrupts has so long to stop; then it is killed.
INTERRUPT_GRACE_SECONDS = 1.0


class WorkerLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits that the worker applies to itself; the host enforces them as well."""

    cpu_ms: Annotated[int, Meta(ge=1)]
    memory_mb: Annotated[int, Meta(ge=1)]
    concurrency: Annotated[int, Meta(ge=1)]
    calls: Annotated[int, Meta(ge=0)] = MAX_CALLS


class StartMessage(Message, frozen=True, kw_only=True, tag="start"):
    """The code to run. With `check`, it runs only if none of its calls is certain to fail.

    `program` is this source as a compiler process compiled it; empty if there is none.
    """

    type: ClassVar[str] = "start"
    source: str
    filename: ShortText
    limits: WorkerLimits
    check: bool = False
    program: bytes = b""
    inputs: bytes = b""
    """A map of names to values, encoded by `values`: globals of the code."""
    argv: list[str] | None = None
    """The arguments in `sys.argv` after the file name; None leaves it as it was."""


class CompileMessage(Message, frozen=True, kw_only=True, tag="compile"):
    """Compile this source and run nothing. Sent to a fresh worker instead of a manifest."""

    type: ClassVar[str] = "compile"
    source: str
    filename: ShortText
    limits: WorkerLimits


class ReadyMessage(Message, frozen=True, kw_only=True, tag="ready"):
    """The worker has confined itself and waits for a manifest."""

    type: ClassVar[str] = "ready"
    protocol: int
    python: ShortText
    language: Annotated[str, Meta(max_length=256)] = ""


class CompiledMessage(Message, frozen=True, kw_only=True, tag="compiled"):
    """The compiled source, which only workers may read; empty if it does not compile."""

    type: ClassVar[str] = "compiled"
    program: Annotated[bytes, Meta(max_length=MAX_PROGRAM_BYTES)]


class StartedMessage(Message, frozen=True, kw_only=True, tag="started"):
    """Sent before the first line of user code runs. Without it, the code never ran."""

    type: ClassVar[str] = "started"


class OutputMessage(Message, frozen=True, kw_only=True, tag="output"):
    """Text that the code printed."""

    type: ClassVar[str] = "output"
    text: str


class Frame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a user-space traceback."""

    line: int
    function: str
    source: str = ""
    filename: str = ""


class ErrorReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error of the code, for a person or a model to act on. It has no frames of Caps itself."""

    type: str
    code: ShortText
    message: str
    filename: str | None = None
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    source_line: str | None = None
    hint: str | None = None
    traceback: str = ""
    frames: list[Frame] = []
    details: dict[str, Any] = {}


class ResultMessage(Message, frozen=True, kw_only=True, tag="result"):
    """How the code ended. `value` is encoded by `values`; `value_is_repr`: only its `repr`."""

    type: ClassVar[str] = "result"
    value: bytes = b""
    value_is_repr: bool = False
    error: ErrorReport | None = None
    never_ran: bool = False


FromWorker = (
    ReadyMessage
    | StartedMessage
    | CapabilityRequestMessage
    | StreamNextMessage
    | OutputMessage
    | ResultMessage
    | CompiledMessage
)
FromHost = (
    ManifestMessage | StartMessage | CapabilityResponseMessage | StreamItemMessage | CompileMessage
)
