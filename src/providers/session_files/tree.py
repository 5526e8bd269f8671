"""(7) The tree of the caller: its store, its session, its limits, and what it knows of versions.

What the caller has seen is kept by execution: two programs of one session are two writers, and
neither may overwrite what it has not read. The memory is bounded. What is forgotten is not known
any more, and a write then needs `if_version`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from pydantic import Field

from caps.capabilities.provider import CallContext, ProviderError, ScopeViolationError
from caps.providers.session_files.scope import SessionFilesScope
from caps.providers.session_store import SessionStore, open_session_store
from caps.store.session_paths import MAX_PATH_BYTES, normalised

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from caps.store.repositories.session_files import FileQuota, FileRefusedError, SessionFiles
    from caps.store.repositories.sessions import StoredSession

T = TypeVar("T")

MAX_SEEN: Final = 65_536

SessionPath = Annotated[
    str,
    Field(
        max_length=4 * MAX_PATH_BYTES,
        description="Absolute path in the session's own tree, such as `/docs/readme.txt`.",
    ),
]


class SeenVersions:
    """The version of each file that each execution last read or wrote."""

    def __init__(self, capacity: int = MAX_SEEN) -> None:
        self._capacity = capacity
        self._seen: OrderedDict[tuple[str, str, str], int] = OrderedDict()

    def get(self, key: tuple[str, str, str]) -> int | None:
        return self._seen.get(key)

    def put(self, key: tuple[str, str, str], version: int) -> None:
        self._seen[key] = version
        self._seen.move_to_end(key)
        if len(self._seen) > self._capacity:
            self._seen.popitem(last=False)

    def forget(self, key: tuple[str, str, str]) -> None:
        self._seen.pop(key, None)


@asynccontextmanager
async def open_seen_versions() -> AsyncIterator[SeenVersions]:
    """One for each runtime."""
    yield SeenVersions()


class SessionTree:
    """The files that one call may use. Made by `open_tree`."""

    def __init__(self, context: CallContext, stored: SessionStore, seen: SeenVersions) -> None:
        self._context = context
        self._stored = stored
        self._seen = seen
        self.scopes = context.scopes_as(SessionFilesScope)

    async def read(self, work: Callable[[SessionFiles], T]) -> T | None:
        """What `work` returns for the files of the session; None if nothing was ever stored."""
        with self._refusals():
            return await self._stored.read(_with_files(work))

    async def change(self, work: Callable[[SessionFiles], T]) -> T:
        """What `work` returns, once its changes are durable."""
        with self._refusals():
            return await self._stored.change(_with_files(work))

    def known_version(self, path: str, if_version: int | None) -> int | None:
        """What the caller knows of the file: what it says, else what its execution has seen."""
        return self._seen.get(self._key(path)) if if_version is None else if_version

    def saw(self, path: str, version: int) -> None:
        """The answer tells the caller this version of the file, and its content."""
        self._seen.put(self._key(path), version)

    def forget(self, path: str) -> None:
        """The caller deleted the file."""
        self._seen.forget(self._key(path))

    def _key(self, path: str) -> tuple[str, str, str]:
        return (self._context.execution_id, self._stored.name, path)

    @property
    def quota(self) -> FileQuota:
        """The lowest number of all policies."""
        from caps.store.repositories.session_files import FileQuota

        return FileQuota(
            max_total_bytes=min(scope.max_total_bytes for scope in self.scopes),
            max_files=min(scope.max_files for scope in self.scopes),
        )

    def require_file_size(self, shown: str, size: int) -> None:
        """Raise ScopeViolationError for a file that is larger than a policy allows."""
        for scope in self.scopes:
            if size > scope.max_file_bytes:
                raise ScopeViolationError(
                    "max_file_bytes",
                    f"{shown} is larger than the {scope.max_file_bytes} bytes allowed",
                    scope=scope,
                )

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """A change that the tree does not take, as this call's own error."""
        from caps.store.repositories.session_files import FileRefusedError

        try:
            yield
        except FileRefusedError as refused:
            self._context.add_labels(*refused.labels)
            raise self._refusal(refused) from refused

    def _refusal(self, refused: FileRefusedError) -> Exception:
        from caps.store.repositories.session_files import FileRefusal

        rule: str = refused.refusal.value
        if refused.refusal in (FileRefusal.FILES, FileRefusal.TOTAL_BYTES):
            lowest = min(self.scopes, key=lambda scope: getattr(scope, rule))
            return ScopeViolationError(rule, refused.message, scope=lowest)
        return ProviderError(refused.message, refusal=rule)


def _with_files(work: Callable[[SessionFiles], T]) -> Callable[[Connection, StoredSession], T]:
    from caps.store.repositories.session_files import SessionFiles

    return lambda connection, session: work(SessionFiles(connection, session))


async def open_tree(context: CallContext) -> SessionTree:
    """The tree of the caller. Raises ProviderError if it has no session, or there is no store."""
    stored = await open_session_store(context, "session files")
    return SessionTree(context, stored, await context.resource(open_seen_versions))


def checked_path(path: str) -> str:
    """The normalised path. Raises ProviderError if it is not valid."""
    try:
        return normalised(path)
    except ValueError as error:
        raise ProviderError(str(error)) from None
