"""The result of an execution: the value, the output, the failure, and the decisions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from caps.capabilities.artifacts import Artifact
from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.runtime.formats.json_value import Spelling, safe_repr, to_json
from caps.capabilities.runtime.formats.model_text import (
    MAX_CHARACTERS,
    MIN_CHARACTERS,
    text_for_model,
)
from caps.protocol.argument_checks import require_int
from caps.protocol.errors import (
    CapsError,
    ExecutionError,
    LimitExceededError,
    PolicyDeniedError,
    ProtocolError,
    WorkerLostError,
)
from caps.protocol.messages import ErrorReport, Frame
from caps.security.audit.model.records import ExecutionStatus
from caps.worker.host.supervisor.interruption import CodeInterruptedError

_STATUS_BY_CODE = {
    PolicyDeniedError.code: ExecutionStatus.POLICY_REFUSED,
    LimitExceededError.code: ExecutionStatus.LIMIT,
    ProtocolError.code: ExecutionStatus.PROTOCOL_VIOLATION,
    WorkerLostError.code: ExecutionStatus.WORKER_LOST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an execution failed. `line` and the fields after it refer to the user's code."""

    code: str
    type: str
    message: str
    filename: str | None = None
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    source_line: str | None = None
    hint: str | None = None
    """How to fix a common mistake."""
    traceback: str = ""
    frames: tuple[Frame, ...] = ()
    details: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What an execution used.

    CPU time and memory are None if no worker reported them: none was started, or the zygote was
    lost with it.
    """

    duration_ms: float
    calls: int
    output_bytes: int
    cpu_ms: float | None
    max_rss_kb: int | None
    """The peak memory of the worker, including what it shares with other processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """The end of one execution."""

    execution_id: str
    status: ExecutionStatus
    started: bool
    """False: no line of the code ran."""
    value: Any
    value_is_repr: bool
    """The value could not be sent to the host; `value` is its `repr`."""
    stdout: str
    error: Failure | None
    usage: Resources
    decisions: tuple[DecisionSummary, ...]
    artifacts: tuple[Artifact, ...] = ()
    """What the code handed out, in order; also if it failed afterwards."""
    note: str | None = None
    """In a session: that the names of earlier runs are lost, and why, if they are."""

    def __repr__(self) -> str:
        names = (name for name in self.__dataclass_fields__)
        shown = ", ".join(f"{name}={safe_repr(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({shown})"

    @property
    def ok(self) -> bool:
        return self.status is ExecutionStatus.OK

    def unwrap(self) -> Any:
        """The value. Raises ExecutionError with the failure if there is none."""
        if self.error is not None:
            raise ExecutionError(self.error.message, failure=self.error, result=self)
        return self.value

    def for_model(self, max_characters: int = MAX_CHARACTERS) -> str:
        """The text to put back into the prompt: output, value, error, hint, and refused calls."""
        require_int("max_characters", max_characters, MIN_CHARACTERS)
        return text_for_model(self, max_characters)

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the value unchanged. `as_json` converts it for JSON."""
        error = None
        if self.error is not None:
            error = {
                **{name: getattr(self.error, name) for name in _FAILURE_FIELDS},
                "frames": [
                    {name: getattr(frame, name) for name in _FRAME_FIELDS}
                    for frame in self.error.frames
                ],
            }
        return {
            "execution_id": self.execution_id,
            "ok": self.ok,
            "status": self.status.value,
            "started": self.started,
            "value": self.value,
            "value_is_repr": self.value_is_repr,
            "stdout": self.stdout,
            "error": error,
            "usage": asdict(self.usage),
            "decisions": [asdict(decision) for decision in self.decisions],
            "artifacts": [artifact.as_dict() for artifact in self.artifacts],
            "note": self.note,
        }

    def as_json(self) -> dict[str, Any]:
        """Plain data for any JSON reader; `value_spelling` says how the value was converted.

        The `content` of an artifact is base64.
        """
        fields = self.as_dict()
        value, spelling = to_json(fields.pop("value"))
        plain, _ = to_json(fields)
        if self.value_is_repr:
            spelling = Spelling.REPR
        return {**plain, "value": value, "value_spelling": spelling.value}


_PLACE_FIELDS = ("filename", "line", "column", "end_column", "source_line")
_FRAME_FIELDS = ("filename", "line", "function", "source")
_FAILURE_FIELDS = (
    "code",
    "type",
    "message",
    "filename",
    "line",
    "column",
    "end_column",
    "source_line",
    "hint",
    "traceback",
    "details",
)


def failure_of_code(report: ErrorReport) -> Failure:
    """The failure for an error in the code, as reported by the worker."""
    fields = {name: getattr(report, name) for name in _FAILURE_FIELDS}
    return Failure(**fields, frames=tuple(report.frames))


def failure_of_host(error: CapsError) -> Failure:
    """The failure for an error that ended the execution from outside."""
    if isinstance(error, CodeInterruptedError):
        return _failure_of_interrupted_code(error)
    return Failure(
        code=error.code, type=type(error).__name__, message=error.message, details=error.details
    )


def _failure_of_interrupted_code(error: CodeInterruptedError) -> Failure:
    """The limit, and where the code was when it was interrupted, which its worker reported."""
    kind, report = LimitExceededError.__name__, error.report
    limit = Failure(code=error.code, type=kind, message=error.message, details=error.details)
    if report is None:
        return limit
    traceback = f"{report.traceback}{kind}: {error.message}\n"
    places = {name: getattr(report, name) for name in _PLACE_FIELDS}
    return replace(limit, **places, traceback=traceback, frames=tuple(report.frames))


def status_of(failure: Failure | None, *, from_code: bool) -> ExecutionStatus:
    """How an execution with this failure ended."""
    if failure is None:
        return ExecutionStatus.OK
    known = _STATUS_BY_CODE.get(failure.code)
    # The worker's own report can only mean "the code failed", "was refused" or "hit a limit".
    if from_code and known not in (ExecutionStatus.POLICY_REFUSED, ExecutionStatus.LIMIT):
        return ExecutionStatus.CODE_FAILED
    return known or ExecutionStatus.HOST_FAILED
