"""The errors of the client, drawn once. Each says with a base class of `caps` whose fault it is.

    ClientError (CapsError)
    ├── ServiceUnreachableError   no connection, or it broke (HostFault)
    │   └── ServiceTimeoutError   no answer in time (a TimeoutError)
    ├── AnswerInvalidError        what came is not an answer of the service (HostFault)
    ├── WaitTimeoutError          the execution goes on; the caller waits no longer (CallerFault)
    └── ProblemError              the service says what is wrong: `problem`
        ├── RequestInvalidError   400, 413, 422 (CallerFault)
        ├── NotSignedInError      401 (CallerFault)
        ├── NotAllowedError       403 (CallerFault)
        ├── NotFoundError         404 (CallerFault)
        ├── ConflictError         409 (CallerFault)
        ├── ChangedError          412: changed since it was read (CallerFault)
        ├── TooManyRequestsError  429: `retry_after` in seconds, or None (CallerFault)
        └── ServiceFailedError    5xx (HostFault)

Errors of the HTTP library never leave this package.
"""

from __future__ import annotations

from typing import Final

import msgspec

from caps.protocol.errors import CallerFault, CapsError, HostFault


class PlaceProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One of several things that are wrong with a request."""

    path: str = ""
    detail: str = ""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that says what is wrong (RFC 9457)."""

    status: int
    code: str
    """Stable, such as `agent_unknown`."""
    detail: str
    path: str | None = None
    """The place in the request."""
    problems: tuple[PlaceProblem, ...] = ()


class ClientError(CapsError):
    """Base of everything that the client raises about the service."""

    code = "client_error"


class ServiceUnreachableError(ClientError, HostFault):
    """Details: `sent` (False: the service has not seen the request)."""

    code = "service_unreachable"


class ServiceTimeoutError(ServiceUnreachableError, TimeoutError):
    code = "service_timeout"


class AnswerInvalidError(ClientError, HostFault):
    code = "answer_invalid"


class WaitTimeoutError(ClientError, CallerFault, TimeoutError):
    """Details: `execution_id`."""

    code = "wait_timeout"


class ProblemError(ClientError):
    """Details: `problem`, `retry_after` (seconds that the service asks for, or None)."""

    code = "problem"


class RequestInvalidError(ProblemError, CallerFault):
    code = "request_invalid"


class NotSignedInError(ProblemError, CallerFault):
    code = "not_signed_in"


class NotAllowedError(ProblemError, CallerFault):
    code = "not_allowed"


class NotFoundError(ProblemError, CallerFault):
    code = "not_found"


class ConflictError(ProblemError, CallerFault):
    code = "conflict"


class ChangedError(ProblemError, CallerFault):
    code = "changed"


class TooManyRequestsError(ProblemError, CallerFault):
    code = "too_many_requests"


class ServiceFailedError(ProblemError, HostFault):
    code = "service_failed"


_BY_STATUS: Final[dict[int, type[ProblemError]]] = {
    401: NotSignedInError,
    403: NotAllowedError,
    404: NotFoundError,
    409: ConflictError,
    412: ChangedError,
    429: TooManyRequestsError,
}


def error_of(problem: Problem, retry_after: float | None) -> ProblemError:
    """The error for this problem."""
    kind = _BY_STATUS.get(problem.status)
    if kind is None:
        kind = ServiceFailedError if problem.status >= 500 else RequestInvalidError
    place = f" at `{problem.path}`" if problem.path and problem.path not in problem.detail else ""
    return kind(f"{problem.detail}{place}", problem=problem, retry_after=retry_after)
