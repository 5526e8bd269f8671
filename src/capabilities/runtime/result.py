"""What an execution gives back: the value, what was printed, what went wrong, what was decided."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.runtime.result_json import Spelling, json_form
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

_STATUS_BY_CODE = {
    PolicyDeniedError.code: ExecutionStatus.POLICY_REFUSED,
    LimitExceededError.code: ExecutionStatus.LIMIT,
    ProtocolError.code: ExecutionStatus.PROTOCOL_VIOLATION,
    WorkerLostError.code: ExecutionStatus.WORKER_LOST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an execution did not end well. `line` and what follows concern the user's own code."""

    code: str
    type: str
    message: str
    filename: str | None = None
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    source_line: str | None = None
    hint: str | None = None
    """What to do about a common slip."""
    traceback: str = ""
    frames: tuple[Frame, ...] = ()
    details: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What an execution used. CPU time and memory are None if no worker told: none was started, or
    the zygote was lost with it."""

    duration_ms: float
    calls: int
    output_bytes: int
    cpu_ms: float | None
    max_rss_kb: int | None
    """The most memory that the worker had, with what it shares with the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """The end of one execution."""

    execution_id: str
    status: ExecutionStatus
    started: bool
    """False: no line of the code ran."""
    value: Any
    value_is_repr: bool
    """The value could not cross as itself; `value` is its `repr`."""
    stdout: str
    error: Failure | None
    usage: Resources
    decisions: tuple[DecisionSummary, ...]

    @property
    def ok(self) -> bool:
        return self.status is ExecutionStatus.OK

    def unwrap(self) -> Any:
        """The value; an ExecutionError with the failure if there is none."""
        if self.error is not None:
            raise ExecutionError(self.error.message, failure=self.error, result=self)
        return self.value

    def as_dict(self) -> dict[str, Any]:
        """Plain data; the value as it is. `as_json` has it as JSON takes it."""
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
        }

    def as_json(self) -> dict[str, Any]:
        """Plain data for any reader of JSON; `value_spelling` says how the value stands in it."""
        fields = self.as_dict()
        value, spelling = json_form(fields.pop("value"))
        plain, _ = json_form(fields)
        if self.value_is_repr:
            spelling = Spelling.REPR
        return {**plain, "value": value, "value_spelling": spelling.value}


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
    """What the worker reported of an error in the code."""
    fields = {name: getattr(report, name) for name in _FAILURE_FIELDS}
    return Failure(**fields, frames=tuple(report.frames))


def failure_of_host(error: CapsError) -> Failure:
    """An error that ended the execution from outside."""
    return Failure(
        code=error.code, type=type(error).__name__, message=error.message, details=error.details
    )


def status_of(failure: Failure | None, *, from_code: bool) -> ExecutionStatus:
    """How an execution with this failure ended."""
    if failure is None:
        return ExecutionStatus.OK
    known = _STATUS_BY_CODE.get(failure.code)
    # What the worker reports of itself is never more than "the code failed" or "was refused".
    if from_code and known not in (ExecutionStatus.POLICY_REFUSED, ExecutionStatus.LIMIT):
        return ExecutionStatus.CODE_FAILED
    return known or ExecutionStatus.HOST_FAILED
