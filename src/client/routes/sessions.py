"""`/v1/sessions`: one's own sessions and their files, as bytes.

What is sent and what comes is bounded by `ClientSettings`, and the service has bounds of its own.
"""

from __future__ import annotations

from typing import Final

import msgspec

from caps.client.errors import AnswerInvalidError
from caps.client.message import Answer, Request, Route, read_as
from caps.client.values import Directory, FileWritten, Page, Session, SessionFile
from caps.protocol.errors import ConfigurationError

LIST = Route("GET", "/v1/sessions")
LIST_FILES = Route("GET", "/v1/sessions/{session}/files")
DOWNLOAD = Route("GET", "/v1/sessions/{session}/files/{path}")
UPLOAD = Route("PUT", "/v1/sessions/{session}/files/{path}")
DELETE = Route("DELETE", "/v1/sessions/{session}/files/{path}")

_BYTES: Final = "application/octet-stream"


def list_sessions(*, limit: int = 50, cursor: str | None = None) -> Request[Page[Session]]:
    """A page of one's sessions, oldest first; `sessions` iterates over all."""
    return Request(
        method=LIST.method,
        path=LIST.path(),
        query={"limit": limit, "cursor": cursor},
        read=read_as(Page[Session]),
        is_repeatable=True,
    )


def list_files(session: str, path: str = "/", *, after: str = "") -> Request[Directory]:
    """What is in a directory. If it is `truncated`, list again `after` the last name."""
    return Request(
        method=LIST_FILES.method,
        path=LIST_FILES.path(session=_one(session)),
        query={"path": path, "after": after},
        read=read_as(Directory),
        is_repeatable=True,
    )


def download_file(session: str, path: str, *, max_bytes: int | None = None) -> Request[SessionFile]:
    """The content of a file, with its `etag`. Raises AnswerInvalidError above `max_bytes`."""
    return Request(
        method=DOWNLOAD.method,
        path=DOWNLOAD.path(session=_one(session), path=_segments(path)),
        read=_file,
        is_repeatable=True,
        max_bytes=max_bytes,
    )


def upload_file(
    session: str, path: str, content: bytes, *, if_match: str | None = None
) -> Request[FileWritten]:
    """Create a file, or replace it at the version of `if_match`.

    Raises ConflictError if it exists and no version is given, ChangedError if it has another one.
    """
    return Request(
        method=UPLOAD.method,
        path=UPLOAD.path(session=_one(session), path=_segments(path)),
        headers={"If-Match": if_match},
        body=content,
        media_type=_BYTES,
        read=_written,
        accepted=frozenset({200, 201}),
    )


def delete_file(session: str, path: str, *, if_match: str | None = None) -> Request[None]:
    """Delete a file, or an empty directory. Raises ChangedError as `upload_file` does."""
    return Request(
        method=DELETE.method,
        path=DELETE.path(session=_one(session), path=_segments(path)),
        headers={"If-Match": if_match},
        read=lambda _answer: None,
        accepted=frozenset({204}),
    )


def _one(session: str) -> str:
    """Servers decode a `/` before they look for the route: it would be another session."""
    if "/" in session:
        raise ConfigurationError("the name of a session has no `/` over HTTP")
    return session


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix("/").split("/"))


def _file(answer: Answer) -> SessionFile:
    etag = answer.headers.get("etag")
    if etag is None:
        raise AnswerInvalidError("the answer has no version of the file")
    return SessionFile(content=answer.body, etag=etag)


def _written(answer: Answer) -> FileWritten:
    return msgspec.structs.replace(answer.decode(FileWritten), etag=answer.headers.get("etag"))
