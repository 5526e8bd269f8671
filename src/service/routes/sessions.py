"""`/v1/sessions`: one's own sessions and their files.

Every use of a file is a call of `session_files`, so it is decided, limited, labelled and recorded
like one from code. The version of a file is its `ETag`.
"""

from __future__ import annotations

from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from fastapi import APIRouter, Header, Path, Query, Request
from pydantic import AfterValidator
from starlette.responses import Response

from caps.capabilities.file_content import decode_content, encode_content
from caps.protocol.errors import PolicyDeniedError, ProviderError, ValidationError
from caps.service.bodies import Cursor, Limit, answer, page, without_nul
from caps.service.description.shapes import OBJECTS, TRUTH, named, page_of, shape
from caps.service.problems import Problem
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, Service, ServiceGiven
from caps.service.signin.roles import Principal, Role
from caps.store.repositories.sessions import Sessions

router = APIRouter(route_class=SecuredRoute, tags=["sessions"])

_BYTES: Final = "application/octet-stream"
_UPLOAD: Final = {
    "requestBody": {
        "required": True,
        "content": {_BYTES: {"schema": {"type": "string", "format": "binary"}}},
    }
}
_STATUSES: Final = {
    PolicyDeniedError.code: 403,
    ProviderError.code: 409,  # there, or not there, or at another version
    ValidationError.code: 422,
}
_LISTED: Final = shape(entries=OBJECTS, truncated=TRUTH)
_DOWNLOAD: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {_BYTES: {"schema": {"type": "string", "format": "binary"}}}}
}
_FILE: Final = "/v1/sessions/{session}/files/{path:path}"
SessionName = Annotated[str, Path(min_length=1, max_length=256), AfterValidator(without_nul)]
FilePath = Annotated[str, Path(min_length=1, max_length=4096), AfterValidator(without_nul)]
Directory = Annotated[str, Query(max_length=4096), AfterValidator(without_nul)]
IfMatch = Annotated[str | None, Header(alias="If-Match", pattern='^"[0-9]{1,15}"$')]
IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", pattern=r"^\*$")]


@router.get("/v1/sessions", openapi_extra=needs(Role.VIEWER, answers={200: page_of("Session")}))
async def list_sessions(
    service: ServiceGiven, caller: Caller, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The caller's sessions for which something is stored, oldest first."""
    try:
        after = None if cursor is None else UUID(cursor)
    except ValueError:
        raise Problem(
            422, "cursor_invalid", "use the `next_cursor` of a page", path="query.cursor"
        ) from None
    found = await service.store.read(
        lambda connection: Sessions(connection).page(caller.name, after=after, limit=limit + 1)
    )
    return page([msgspec.to_builtins(each) for each in found], limit)


@router.get(
    "/v1/sessions/{session}/files", openapi_extra=needs(Role.RUNNER, 409, answers={200: _LISTED})
)
async def list_files(
    session: SessionName,
    service: ServiceGiven,
    caller: Caller,
    path: Directory = "/",
    after: Directory = "",
) -> Response:
    """The files and directories at a path; if `truncated`, go on `after` the last name."""
    called = _Files(service, caller, session)
    return answer(await called.call("list", path=path, after=after))


@router.get(
    _FILE, response_class=Response, responses=_DOWNLOAD, openapi_extra=needs(Role.RUNNER, 409)
)
async def download_file(
    session: SessionName, path: FilePath, service: ServiceGiven, caller: Caller
) -> Response:
    """The content of a file; its version is the `ETag`."""
    files, place = _Files(service, caller, session), f"/{path}"
    found = await files.call("stat", path=place)
    if not found["exists"] or found["is_directory"]:
        raise Problem(404, "file_unknown", "there is no such file")
    read = await files.call("read", path=place)
    content = decode_content(read["content"], read["encoding"])
    headers = {"ETag": f'"{read["version"]}"', "Content-Disposition": "attachment"}
    return Response(content, headers=headers, media_type=_BYTES)


@router.put(
    _FILE,
    openapi_extra={
        **needs(Role.RUNNER, 409, answers={200: named("FileWritten"), 201: named("FileWritten")}),
        **_UPLOAD,
    },
)
async def upload_file(
    request: Request,
    session: SessionName,
    path: FilePath,
    service: ServiceGiven,
    caller: Caller,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Create or replace a file. One that exists is replaced only at the version of `If-Match`."""
    files, place = _Files(service, caller, session), f"/{path}"
    known = 0 if if_match is None else int(if_match.strip('"'))
    if if_match is not None or if_none_match is not None:
        await files.require_version(place, known)
    content, encoding = encode_content(await request.body())
    wanted = {"path": place, "content": content, "encoding": encoding, "if_version": known}
    written = await files.call("write", **wanted)
    headers = {"ETag": f'"{written["version"]}"'}
    return answer(written, 201 if written["created"] else 200, headers)


@router.delete(_FILE, status_code=204, openapi_extra=needs(Role.RUNNER, 409))
async def delete_file(
    session: SessionName,
    path: FilePath,
    service: ServiceGiven,
    caller: Caller,
    if_match: IfMatch = None,
) -> Response:
    """Delete a file, or an empty directory; with `If-Match` only at that version."""
    files, place = _Files(service, caller, session), f"/{path}"
    wanted: dict[str, Any] = {"path": place}
    if if_match is not None:
        wanted["if_version"] = int(if_match.strip('"'))
        await files.require_version(place, wanted["if_version"])
    if not (await files.call("delete", **wanted))["deleted"]:
        raise Problem(404, "file_unknown", "there is no such file")
    return Response(status_code=204)


class _Files:
    """The files of one session, by calls as its principal."""

    def __init__(self, service: Service, caller: Principal, session: str) -> None:
        self._service = service
        self._caller = caller
        self._session = session

    async def call(self, function: str, **payload: Any) -> Any:
        """The value of the call. Problem if it is refused; else the error itself."""
        done = await self._service.runtime.call(
            f"session_files.{function}",
            payload,
            principal=self._caller.name,
            session=self._session,
            via="http",
        )
        if done.error is not None and done.error.code in _STATUSES:
            raise Problem(_STATUSES[done.error.code], done.error.code, done.error.message)
        return done.unwrap()

    async def require_version(self, place: str, version: int) -> None:
        """Problem (412) if the file has another version; the call itself checks again."""
        if (await self.call("stat", path=place))["version"] != version:
            raise Problem(412, "file_changed", "the file has another version; read it again")
