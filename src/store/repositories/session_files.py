"""Session files: the tree of each session, files and directories as rows. The root has no row.

What holds for every transaction here:

- a file's directories exist, and are directories;
- a read-only entry, and everything in a read-only directory, is not changed;
- a file is replaced only at the version that the writer knows. Versions are revisions of the
  session, so a file that was deleted and made again never has a version that it had before;
- the labels of a path never fall while it exists, since its name may tell as much as its content;
- a tree does not grow over its quota.

Paths are normalised (`caps.store.session_paths`).
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from caps.protocol.errors import CapsError
from caps.protocol.text import printable
from caps.store.columns import OrderedText, UtcTime, Words, metadata, now
from caps.store.repositories.sessions import StoredSession
from caps.store.session_paths import ROOT, ancestors_of, parent_of
from caps.store.upsert import insert_or_update

session_files: Final = sa.Table(
    "session_files",
    metadata,
    sa.Column("session_id", sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("path", OrderedText, primary_key=True),
    sa.Column("parent", OrderedText, nullable=False),
    sa.Column("is_directory", sa.Boolean, nullable=False),
    sa.Column("is_readonly", sa.Boolean, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("labels", Words, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),  # last: the others are read without it
    sa.Index(None, "session_id", "parent", "path"),
    sa.Index(None, "session_id", "size_bytes"),
)
_columns = session_files.c


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file or directory, without its content."""

    path: str
    is_directory: bool
    is_readonly: bool
    size_bytes: int
    version: int
    labels: tuple[str, ...]
    created_at: datetime
    updated_at: datetime


class FileQuota(msgspec.Struct, frozen=True, kw_only=True):
    """How large a tree may grow. Directories count as files."""

    max_total_bytes: int
    max_files: int


class FileRefusal(enum.Enum):
    CONFLICT = "conflict"
    READ_ONLY = "read_only"
    IS_DIRECTORY = "is_directory"
    IS_FILE = "is_file"
    NOT_EMPTY = "not_empty"
    TOTAL_BYTES = "max_total_bytes"
    FILES = "max_files"


class FileRefusedError(CapsError):
    """A change that the tree does not take; nothing was changed.

    Details: `refusal`, `path`, and the `labels` of what the message tells of.
    """

    code = "file_refused"

    def __init__(
        self, message: str, *, refusal: FileRefusal, path: str, labels: Collection[str] = ()
    ) -> None:
        super().__init__(message, refusal=refusal, path=path, labels=tuple(sorted(labels)))


_ENTRY: Final = [_columns[name] for name in FileEntry.__struct_fields__]


class SessionFiles:
    """The repository of one session's files, within one transaction.

    To change something, pass the session that `Sessions.change` returned.
    """

    def __init__(self, connection: sa.Connection, session: StoredSession) -> None:
        self._connection = connection
        self._session = session
        self._own = _columns.session_id == session.id

    def entry(self, path: str) -> FileEntry | None:
        """The file or directory at `path`, without its content. The root has none."""
        return self._entries([path]).get(path)

    def content(self, path: str) -> bytes | None:
        """The content of the file; None if there is no file."""
        return dict(self.contents([path])).get(path)

    def contents(self, paths: Collection[str]) -> list[tuple[str, bytes]]:
        """The paths and contents of those files that exist, by path."""
        wanted = sa.select(_columns.path, _columns.content).where(
            self._own, _columns.path.in_(paths), _columns.is_directory.is_(False)
        )
        rows = self._connection.execute(wanted.order_by(_columns.path))
        return [(row.path, row.content) for row in rows]

    def children(self, directory: str, *, after: str = "", limit: int) -> list[FileEntry]:
        """The entries of a directory by name, from the first one after the name `after` on."""
        start = f"{directory.rstrip('/')}/{after}"
        wanted = sa.select(*_ENTRY).where(
            self._own, _columns.parent == directory, _columns.path > start
        )
        rows = self._connection.execute(wanted.order_by(_columns.path).limit(limit))
        return [FileEntry(**row._asdict()) for row in rows]

    def files(self) -> list[FileEntry]:
        """All files by path, without directories."""
        wanted = sa.select(*_ENTRY).where(self._own, _columns.is_directory.is_(False))
        rows = self._connection.execute(wanted.order_by(_columns.path))
        return [FileEntry(**row._asdict()) for row in rows]

    def put(
        self,
        path: str,
        content: bytes,
        *,
        labels: Collection[str] = (),
        known_version: int | None = None,
        quota: FileQuota | None = None,
        is_readonly: bool = False,
    ) -> tuple[FileEntry, bool]:
        """Write a whole file, and the directories above it; True if it is new.

        `known_version` is what the writer knows of the file: the version that it read, 0 for none,
        None if it knows nothing. Raises FileRefusedError.
        """
        found = self._entries([*ancestors_of(path), path])
        present = found.pop(path, None)
        _require_writable(path, present, found)
        _require_known(path, present, known_version)
        missing = [each for each in ancestors_of(path) if each not in found]
        if quota is not None:
            self._require_room(path, present, len(content), len(missing), quota)
        made = self._row(path, labels, content=content, is_readonly=is_readonly)
        if present is not None:
            made |= {
                "labels": {*present.labels, *labels},
                "created_at": present.created_at,
            }
        rows = [*(self._row(each, labels) for each in missing), made]
        for row in rows:
            insert_or_update(self._connection, session_files, row, ("session_id", "path"))
        if present is None:
            self._touch(parent_of((*missing, path)[0]))
        return FileEntry(**{**_described(made), "labels": tuple(sorted(made["labels"]))}), (
            present is None
        )

    def delete(
        self, path: str, *, recursive: bool = False, known_version: int | None = None
    ) -> list[FileEntry]:
        """Delete a file or directory; return what was deleted, nothing if there was nothing.

        A file of another version than `known_version`, if that is given, is not deleted. Raises
        FileRefusedError.
        """
        found = self._entries([*ancestors_of(path), path])
        present = found.pop(path, None)
        if path == ROOT:
            raise FileRefusedError(
                "the root cannot be deleted", refusal=FileRefusal.READ_ONLY, path=path
            )
        if present is None:
            return []
        beneath = self._beneath(path) if present.is_directory else []
        entries = [present, *beneath]
        if beneath and not recursive:
            raise FileRefusedError(
                f"`{printable(path)}` is a directory that is not empty; pass `recursive=True` to "
                "delete it",
                refusal=FileRefusal.NOT_EMPTY,
                path=path,
                labels=_labels(entries),
            )
        if known_version is not None and not present.is_directory:
            _require_known(path, present, known_version)
        _require_changeable([*found.values(), *entries])
        gone = sa.delete(session_files).where(self._own, self._at_or_beneath(path))
        self._connection.execute(gone)
        self._touch(parent_of(path))
        return entries

    def set_readonly(self, path: str, is_readonly: bool) -> bool:
        """Protect an entry, and with a directory everything in it; False if there is none."""
        changed = sa.update(session_files).where(self._own, _columns.path == path)
        return self._connection.execute(changed.values(is_readonly=is_readonly)).rowcount > 0

    def _entries(self, paths: Sequence[str]) -> dict[str, FileEntry]:
        wanted = sa.select(*_ENTRY).where(self._own, _columns.path.in_(paths))
        return {row.path: FileEntry(**row._asdict()) for row in self._connection.execute(wanted)}

    def _beneath(self, path: str) -> list[FileEntry]:
        wanted = sa.select(*_ENTRY).where(
            self._own, self._at_or_beneath(path), _columns.path != path
        )
        return [FileEntry(**row._asdict()) for row in self._connection.execute(wanted)]

    def _at_or_beneath(self, path: str) -> sa.ColumnElement[bool]:
        # `0` is the character after `/`, and text is compared byte by byte.
        beneath = sa.and_(_columns.path > f"{path}/", _columns.path < f"{path}0")
        return sa.or_(_columns.path == path, beneath)

    def _require_room(
        self, path: str, present: FileEntry | None, size: int, directories: int, quota: FileQuota
    ) -> None:
        totals = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(_columns.size_bytes), 0))
        files, total = self._connection.execute(totals.where(self._own)).one()
        more = size - (0 if present is None else present.size_bytes)
        if more > 0 and total + more > quota.max_total_bytes:
            raise FileRefusedError(
                f"`{printable(path)}` does not fit: the files of this session may have "
                f"{quota.max_total_bytes} bytes together; delete some",
                refusal=FileRefusal.TOTAL_BYTES,
                path=path,
            )
        if present is None and files + directories + 1 > quota.max_files:
            raise FileRefusedError(
                f"`{printable(path)}` does not fit: this session may have {quota.max_files} files "
                "and directories; delete some",
                refusal=FileRefusal.FILES,
                path=path,
            )

    def _row(
        self,
        path: str,
        labels: Collection[str],
        *,
        content: bytes | None = None,
        is_readonly: bool = False,
    ) -> dict[str, Any]:
        """A new row; without a content that of a directory."""
        time = now()
        return {
            "session_id": self._session.id,
            "path": path,
            "parent": parent_of(path),
            "is_directory": content is None,
            "is_readonly": is_readonly,
            "size_bytes": len(content or b""),
            "version": self._session.revision,
            "labels": set(labels),
            "created_at": time,
            "updated_at": time,
            "content": content or b"",
        }

    def _touch(self, directory: str) -> None:
        """An entry of the directory came or went."""
        changed = sa.update(session_files).where(self._own, _columns.path == directory)
        self._connection.execute(changed.values(updated_at=now()))


def _described(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in FileEntry.__struct_fields__}


def _labels(entries: Collection[FileEntry]) -> set[str]:
    return {label for entry in entries for label in entry.labels}


def _require_writable(path: str, present: FileEntry | None, above: dict[str, FileEntry]) -> None:
    if path == ROOT or (present is not None and present.is_directory):
        raise FileRefusedError(
            f"`{printable(path)}` is a directory; name a file in it",
            refusal=FileRefusal.IS_DIRECTORY,
            path=path,
            labels=() if present is None else present.labels,
        )
    for entry in above.values():
        if not entry.is_directory:
            raise FileRefusedError(
                f"`{printable(entry.path)}` is a file; nothing can be written beneath it",
                refusal=FileRefusal.IS_FILE,
                path=entry.path,
                labels=entry.labels,
            )
    _require_changeable([*above.values(), *(() if present is None else (present,))])


def _require_changeable(entries: Collection[FileEntry]) -> None:
    for entry in entries:
        if entry.is_readonly:
            raise FileRefusedError(
                f"`{printable(entry.path)}` is read-only and cannot be changed",
                refusal=FileRefusal.READ_ONLY,
                path=entry.path,
                labels=_labels(entries),
            )


def _require_known(path: str, present: FileEntry | None, known: int | None) -> None:
    """What the writer knows must be what is there: else a write of somebody else would be lost."""
    current = 0 if present is None else present.version
    if current == (0 if known is None else known):
        return
    if present is None:
        reason = f"does not exist (any more), and not at version {known}; pass `if_version=0`"
    elif known is None:
        reason = (
            f"exists at version {current}, which was not read here; read it, then pass "
            f"`if_version={current}` to replace it"
        )
    elif known == 0:
        reason = f"exists already, at version {current}; read it first"
    else:
        reason = f"is at version {current}, not {known}: it was changed since; read it again"
    raise FileRefusedError(
        f"`{printable(path)}` {reason}",
        refusal=FileRefusal.CONFLICT,
        path=path,
        labels=() if present is None else present.labels,
    )
