"""The files of the caller's session as resources: `caps-session:///notes/plan.md`.

They are listed and read by calls of `session_files`, so the policy decides and the log records, and
there are none unless both functions are granted. A page of the list walks the tree in the order of
its names; the cursor holds the directories that it still has to go through, and after which name.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    Completion,
    ListResourcesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from caps.capabilities.artifacts import guess_media_type
from caps.capabilities.runtime.call import CallResult
from caps.mcp.server.content import contents
from caps.mcp.server.limits import ServerLimits
from caps.mcp.server.tools import Offer

LIST: Final = "session_files.list"
READ: Final = "session_files.read"
PREFIX: Final = "caps-session://"
PATH: Final = "path"
TEMPLATE: Final = ResourceTemplate(
    name="session_file",
    title="File of the session",
    uri_template=f"{PREFIX}{{+{PATH}}}",
    description="A file of the session, by its absolute path.",
)
_MAX_CURSOR_CHARACTERS: Final = 16_384
_MAX_DEPTH: Final = 128
_MAX_COMPLETIONS: Final = 100  # of the protocol

Call = Callable[[str, dict[str, Any]], Awaitable[CallResult]]
_Stack = list[tuple[str, str]]


def has_resources(offer: Offer) -> bool:
    granted = offer.chain.granted
    return LIST in granted and READ in granted


async def list_resources(
    call: Call, cursor: str | None, limits: ServerLimits
) -> ListResourcesResult:
    """One page. Raises MCPError for a cursor that is none, and if a call is refused or fails."""
    stack = [("/", "")] if cursor is None else _read_cursor(cursor)
    found: list[Resource] = []
    directories = 0
    while stack and len(found) < limits.page and directories < limits.directories:
        directories += 1
        path, after = stack.pop()
        listing = _value(await call(LIST, {"path": path, "after": after}))
        _take(listing, path, stack, found, limits.page)
    return ListResourcesResult(resources=found, next_cursor=_write_cursor(stack) if stack else None)


def _take(
    listing: dict[str, Any], path: str, stack: _Stack, found: list[Resource], page: int
) -> None:
    """Files go to `found`. At a directory, or with a full page, the rest goes back to `stack`."""
    entries = listing["entries"]
    for place, entry in enumerate(entries):
        is_last = place == len(entries) - 1 and not listing["truncated"]
        if entry["is_directory"]:
            if not is_last:
                stack.append((path, entry["name"]))
            stack.append((entry["path"], ""))
            return
        found.append(_resource(entry))
        if len(found) >= page:
            if not is_last:
                stack.append((path, entry["name"]))
            return
    if listing["truncated"] and entries:
        stack.append((path, entries[-1]["name"]))


def _resource(entry: dict[str, Any]) -> Resource:
    return Resource(
        uri=f"{PREFIX}{quote(entry['path'])}",
        name=entry["name"],
        size=entry["size_bytes"],
        mime_type=guess_media_type(entry["name"], b""),
    )


async def read_resource(call: Call, uri: str) -> ReadResourceResult:
    """A file. Raises MCPError if there is none, or it may not be read."""
    path = _path_of(uri)
    if not path.startswith("/"):
        raise MCPError(
            code=INVALID_PARAMS, message="there is no such resource", data={"uri": uri[:1000]}
        )
    result = await call(READ, {"path": path})
    if result.error is not None:
        raise MCPError(code=INVALID_PARAMS, message=result.error.message, data={"uri": uri[:1000]})
    return ReadResourceResult(contents=[_contents(uri, path, result.value)])


def _path_of(uri: str) -> str:
    """The path of a file; empty if the URI is not one of ours."""
    try:
        return unquote(uri.removeprefix(PREFIX), errors="strict") if uri.startswith(PREFIX) else ""
    except UnicodeDecodeError:
        return ""


def _contents(
    uri: str, path: str, value: dict[str, Any]
) -> TextResourceContents | BlobResourceContents:
    content, name = value["content"], path.rpartition("/")[2]
    if value["encoding"] == "text":
        media_type = guess_media_type(name, content)
        return TextResourceContents(uri=uri, mime_type=media_type, text=content)
    return contents(uri, guess_media_type(name, b""), base64.b64decode(content))


async def complete_path(call: Call, given: str) -> Completion:
    """The paths that begin with what was typed: the entries of the directory that it is in."""
    directory, _, start = f"/{given.lstrip('/')}".rpartition("/")
    result = await call(LIST, {"path": directory or "/", "after": ""})
    if result.error is not None:
        return Completion(values=[])
    found = [
        entry["path"] + ("/" if entry["is_directory"] else "")
        for entry in result.value["entries"]
        if entry["name"].startswith(start)
    ]
    shown = found[:_MAX_COMPLETIONS]
    return Completion(values=shown, total=len(found), has_more=len(found) > len(shown))


def _value(result: CallResult) -> dict[str, Any]:
    if result.error is not None:
        raise MCPError(code=INVALID_PARAMS, message=result.error.message)
    assert isinstance(result.value, dict)
    return result.value


def _write_cursor(stack: _Stack) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(stack)).decode()


def _read_cursor(cursor: str) -> _Stack:
    """What a client sends; each path in it is checked again by the call that uses it."""
    try:
        if len(cursor) > _MAX_CURSOR_CHARACTERS:
            raise ValueError
        stack = msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=_Stack)
        if not 0 < len(stack) <= _MAX_DEPTH:
            raise ValueError
    except (ValueError, binascii.Error, msgspec.MsgspecError, RecursionError):
        raise MCPError(code=INVALID_PARAMS, message="the cursor is not one of this list") from None
    return stack
