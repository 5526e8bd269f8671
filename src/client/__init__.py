"""The client of the service: `Client` and `AsyncClient`. It imports the protocol and nothing else.

What is sent and how an answer is read is decided once, without IO: `routes`, `exchange`, `feed`.
`sync_client` and `async_client` move bytes and wait. A new route is a function in `routes/` and a
line in each of the two.
"""

from __future__ import annotations

from caps.client.async_client import AsyncClient
from caps.client.errors import (
    AnswerInvalidError,
    ChangedError,
    ClientError,
    ConflictError,
    NotAllowedError,
    NotFoundError,
    NotSignedInError,
    ProblemError,
    RequestInvalidError,
    ServiceFailedError,
    ServiceTimeoutError,
    ServiceUnreachableError,
    TooManyRequestsError,
    WaitTimeoutError,
)
from caps.client.settings import ClientSettings
from caps.client.sync_client import Client

__all__ = [
    "ChangedError",
    "AnswerInvalidError",
    "AsyncClient",
    "Client",
    "ClientError",
    "ClientSettings",
    "ConflictError",
    "NotAllowedError",
    "NotFoundError",
    "NotSignedInError",
    "ProblemError",
    "RequestInvalidError",
    "ServiceFailedError",
    "ServiceTimeoutError",
    "ServiceUnreachableError",
    "TooManyRequestsError",
    "WaitTimeoutError",
]
