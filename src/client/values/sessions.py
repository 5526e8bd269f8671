"""Sessions and their files."""

from __future__ import annotations

import datetime as dt

import msgspec


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One of the caller's sessions for which something is stored."""

    id: str
    principal: str
    name: str
    revision: int
    """The number of its changes so far."""
    created_at: dt.datetime
    updated_at: dt.datetime


class DirectoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One name in a directory."""

    name: str
    path: str
    is_directory: bool
    is_readonly: bool
    size_bytes: int
    version: int
    modified_at: str


class Directory(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a directory by name. If it is `truncated`, list `after` the last name."""

    path: str
    entries: tuple[DirectoryEntry, ...]
    truncated: bool


class SessionFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with its content, at the version of `etag`."""

    content: bytes
    etag: str


class FileWritten(msgspec.Struct, frozen=True, kw_only=True):
    """The file that was written; `created` is False if it replaced another one."""

    path: str
    size_bytes: int
    created: bool
    version: int
    etag: str | None = None
