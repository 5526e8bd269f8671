"""The repositories: the same behaviour on both databases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import anyio
import pytest
from sqlalchemy import Connection

from caps.protocol.errors import ConfigurationError
from caps.store import StoreError
from caps.store.columns import MAX_KEY_BYTES
from caps.store.database import Store
from caps.store.repositories.secrets import Secrets
from caps.store.repositories.session_files import (
    FileEntry,
    FileQuota,
    FileRefusal,
    FileRefusedError,
    SessionFiles,
)
from caps.store.repositories.sessions import Sessions, StoredSession
from caps.store.sealing import SecretBox

pytestmark = pytest.mark.anyio

T = TypeVar("T")
AMPLE = FileQuota(max_total_bytes=10**6, max_files=100)


class Tree:
    """The files of one session."""

    def __init__(self, store: Store, principal: str = "ann", session: str = "s") -> None:
        self.store, self.principal, self.session = store, principal, session

    async def change(self, work: Callable[[SessionFiles], T]) -> T:
        def transaction(connection: Connection) -> T:
            session = Sessions(connection).change(self.principal, self.session)
            return work(SessionFiles(connection, session))

        return await self.store.write(transaction)

    async def read(self, work: Callable[[SessionFiles], T]) -> T:
        def transaction(connection: Connection) -> T:
            session = Sessions(connection).find(self.principal, self.session)
            assert session is not None
            return work(SessionFiles(connection, session))

        return await self.store.read(transaction)

    async def put(self, path: str, content: bytes = b"x", **options: Any) -> Any:
        return await self.change(lambda files: files.put(path, content, **options))

    async def children(self, directory: str, *, after: str = "", limit: int) -> list[FileEntry]:
        return await self.read(lambda files: files.children(directory, after=after, limit=limit))

    async def refused(self, work: Callable[[SessionFiles], object]) -> FileRefusedError:
        """The refusal; nothing is changed by it."""
        before = await self.read(_everything)
        with pytest.raises(FileRefusedError) as raised:
            await self.change(work)
        assert await self.read(_everything) == before
        return raised.value


def put(path: str, content: bytes, **options: Any) -> Callable[[SessionFiles], object]:
    return lambda files: files.put(path, content, **options)


async def changed(store: Store, principal: str, name: str) -> StoredSession:
    return await store.write(lambda found: Sessions(found).change(principal, name))


async def deleted_before(store: Store, moment: datetime) -> int:
    return await store.write(lambda found: Sessions(found).delete_unchanged_since(moment))


def _everything(files: SessionFiles) -> object:
    found = files.files()
    return found, files.contents([entry.path for entry in found])


@pytest.fixture
def tree(store: Store) -> Tree:
    return Tree(store)


class TestSessions:
    async def test_it_is_found_by_principal_and_name(self, store: Store) -> None:
        """Two principals may use the same name."""
        ids = {
            (await changed(store, p, n)).id for p in ("ann", "bob") for n in ("one", "two", "one")
        }
        assert len(ids) == 4
        assert {each.version for each in ids} == {7}
        assert await store.read(lambda found: Sessions(found).find("ann", "three")) is None
        found = await store.read(lambda found: Sessions(found).of_principal("ann"))
        assert {(each.name, each.revision) for each in found} == {("one", 2), ("two", 1)}

    async def test_times_are_in_utc(self, store: Store) -> None:
        """On both databases, with microseconds."""
        session = await store.write(lambda found: Sessions(found).change("ann", "s"))
        again = await store.read(lambda found: Sessions(found).find("ann", "s"))
        assert again == session
        assert session.created_at.tzinfo is UTC
        assert abs(datetime.now(UTC) - session.created_at) < timedelta(minutes=1)

    @pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * (MAX_KEY_BYTES + 1)])
    async def test_a_name_that_cannot_be_kept_is_refused(self, store: Store, name: str) -> None:
        """Before a database sees it; nothing was ever stored under it."""
        with pytest.raises(ConfigurationError, match="the name of the session cannot be stored"):
            await store.write(lambda found: Sessions(found).change("ann", name))
        assert await store.read(lambda found: Sessions(found).find("ann", name)) is None

    async def test_the_longest_names_are_kept(self, store: Store) -> None:
        """Both together fit an index of PostgreSQL, and so does the longest path."""
        long, path = "ä" * (MAX_KEY_BYTES // 2), "/" + "/".join(["é" * 100] * 5)
        tree = Tree(store, long, long)
        await tree.put(path)
        assert await tree.read(lambda files: files.content(path)) == b"x"

    async def test_deleting_one_deletes_its_files_only(self, store: Store) -> None:
        """By its name, or because it was not changed for long."""
        for name in ("one", "two", "three"):
            await Tree(store, session=name).put("/a/b")
        assert await store.write(lambda found: Sessions(found).delete("ann", "one"))
        assert not await store.write(lambda found: Sessions(found).delete("ann", "one"))
        assert await store.read(lambda found: Sessions(found).find("ann", "one")) is None
        assert await Tree(store, session="two").read(lambda files: files.content("/a/b")) == b"x"
        past, future = (datetime.now(UTC) + timedelta(days=days) for days in (-1, 1))
        for moment, count in ((past, 0), (future, 2), (future, 0)):
            assert await deleted_before(store, moment) == count


class TestFiles:
    async def test_parents_are_made(self, tree: Tree) -> None:
        """Each directory is an entry of its own."""
        entry, created = await tree.put("/a/b/c.txt", b"hello", labels=("private",))
        assert (entry.path, entry.size_bytes, entry.labels, created) == (
            "/a/b/c.txt",
            5,
            ("private",),
            True,
        )
        for directory, names in (("/", ["/a"]), ("/a", ["/a/b"]), ("/a/b", ["/a/b/c.txt"])):
            found = await tree.children(directory, limit=9)
            assert [each.path for each in found] == names
            assert {each.labels for each in found} == {("private",)}
        assert await tree.read(lambda files: files.content("/a/b/c.txt")) == b"hello"
        assert await tree.read(lambda files: files.content("/a/b")) is None
        assert await tree.read(lambda files: files.entry("/a/b/c.txt")) == entry

    async def test_a_listing_is_ordered_by_bytes_and_has_pages(self, tree: Tree) -> None:
        """The same order on both databases, whatever their collation is."""
        names = ["B", "a", "a.b", "a0", "b", "Ä", "ä", "€", "🙂"]
        for name in names:
            await tree.put(f"/{name}/x")
        expected = [f"/{name}" for name in sorted(names, key=str.encode)]
        found: list[str] = []
        while True:
            after = found[-1][1:] if found else ""
            page = await tree.children("/", after=after, limit=4)
            found += [entry.path for entry in page]
            if not page:
                break
        assert found == expected

    async def test_a_replaced_file_keeps_its_creation_and_its_labels(self, tree: Tree) -> None:
        """Labels never fall: the name of a path may tell as much as its content."""
        first, _ = await tree.put("/a", b"1", labels=("private",))
        second, created = await tree.put(
            "/a", b"22", labels=("untrusted",), known_version=first.version
        )
        assert not created
        assert second.labels == ("private", "untrusted")
        assert second.created_at == first.created_at
        assert second.updated_at > first.updated_at
        assert second.version > first.version

    @pytest.mark.parametrize(
        ("known", "message"),
        [
            (None, "exists at version 1, which was not read here"),
            (0, "exists already, at version 1"),
            (7, "is at version 1, not 7"),
        ],
    )
    async def test_a_version_that_is_not_known_is_not_replaced(
        self, tree: Tree, known: int | None, message: str
    ) -> None:
        """The refusal has the labels of the file that it tells of."""
        await tree.put("/a", b"1", labels=("private",))
        refused = await tree.refused(lambda files: files.put("/a", b"2", known_version=known))
        assert refused.refusal is FileRefusal.CONFLICT
        assert message in refused.message
        assert refused.labels == ("private",)

    async def test_a_version_never_comes_back(self, tree: Tree) -> None:
        """A file that was deleted and made again is another one."""
        first, _ = await tree.put("/a")
        await tree.change(lambda files: files.delete("/a"))
        refused = await tree.refused(
            lambda files: files.put("/a", b"2", known_version=first.version)
        )
        assert "does not exist" in refused.message
        again, _ = await tree.put("/a")
        assert again.version > first.version
        await tree.refused(lambda files: files.put("/a", b"2", known_version=first.version))

    async def test_files_and_directories_do_not_mix(self, tree: Tree) -> None:
        """A file has nothing beneath it, and a directory has no content."""
        await tree.put("/a/b")
        refusals = [
            (await tree.refused(put(path, b"x"))).refusal
            for path in ("/a", "/", "/a/b/c", "/a/b/c/d")
        ]
        assert refusals == [FileRefusal.IS_DIRECTORY] * 2 + [FileRefusal.IS_FILE] * 2

    async def test_a_read_only_entry_is_not_changed(self, tree: Tree) -> None:
        """Nor anything in a read-only directory, nor a directory that has one in it."""
        await tree.put("/a/b/c", is_readonly=True)
        await tree.put("/d/e")
        assert await tree.change(lambda files: files.set_readonly("/d", True))
        assert not await tree.change(lambda files: files.set_readonly("/none", True))
        changes: list[Callable[[SessionFiles], object]] = [
            lambda files: files.put("/a/b/c", b"2", known_version=1),
            lambda files: files.put("/d/new", b"2"),
            lambda files: files.delete("/a/b/c"),
            lambda files: files.delete("/a", recursive=True),
            lambda files: files.delete("/d/e"),
            lambda files: files.delete("/", recursive=True),
        ]
        for change in changes:
            assert (await tree.refused(change)).refusal is FileRefusal.READ_ONLY
        await tree.change(lambda files: files.set_readonly("/d", False))
        assert len(await tree.change(lambda files: files.delete("/d", recursive=True))) == 2

    async def test_deleting(self, tree: Tree) -> None:
        """A directory with something in it only recursively; names that begin the same stay."""
        for path in ("/a/b/c", "/a/b/d", "/a0/x", "/a.b", "/ab"):
            await tree.put(path, labels=(path[-1],))
        refused = await tree.refused(lambda files: files.delete("/a"))
        assert refused.refusal is FileRefusal.NOT_EMPTY
        gone = await tree.change(lambda files: files.delete("/a", recursive=True))
        assert sorted(entry.path for entry in gone) == ["/a", "/a/b", "/a/b/c", "/a/b/d"]
        assert await tree.change(lambda files: files.delete("/a")) == []
        left = await tree.read(lambda files: files.files())
        assert [entry.path for entry in left] == ["/a.b", "/a0/x", "/ab"]
        await tree.change(lambda files: files.delete("/a0/x"))
        assert len(await tree.change(lambda files: files.delete("/a0"))) == 1, "it was empty"

    async def test_the_quota(self, tree: Tree) -> None:
        """Bytes and entries; a tree that is over it already may still shrink."""
        small = FileQuota(max_total_bytes=10, max_files=3)
        await tree.put("/a/b", b"x" * 10, quota=small)
        for path, content, refusal in (
            ("/c", b"x", FileRefusal.TOTAL_BYTES),
            ("/c/d", b"", FileRefusal.FILES),
        ):
            refused = await tree.refused(put(path, content, quota=small))
            assert refused.refusal is refusal
        await tree.put("/c", b"", quota=small)
        smaller = FileQuota(max_total_bytes=5, max_files=1)
        await tree.put("/a/b", b"x" * 8, known_version=1, quota=smaller)

    async def test_any_bytes_are_kept(self, tree: Tree) -> None:
        """Also none, and NUL."""
        for content in (b"", b"\0\xff" * 1000, bytes(range(256))):
            entry, _ = await tree.put("/a", content, known_version=await _version(tree, "/a"))
            assert entry.size_bytes == len(content)
            assert await tree.read(lambda files: files.content("/a")) == content

    async def test_a_failed_transaction_changes_nothing(self, tree: Tree) -> None:
        """What it did before the error is gone."""
        await tree.put("/a")

        def work(files: SessionFiles) -> None:
            files.put("/b", b"x")
            raise RuntimeError("after the write")

        with pytest.raises(RuntimeError, match="after the write"):
            await tree.change(work)
        assert [entry.path for entry in await tree.read(lambda files: files.files())] == ["/a"]


async def _version(tree: Tree, path: str) -> int:
    entry = await tree.change(lambda files: files.entry(path))
    return 0 if entry is None else entry.version


class TestConcurrency:
    async def test_sessions_do_not_see_each_other(self, store: Store) -> None:
        """Many at once, with the same paths."""
        trees = [Tree(store, who, name) for who in "abcd" for name in "wxyz"]

        async def use(tree: Tree) -> None:
            for number in range(5):
                await tree.put(f"/n/{number}", f"{tree.principal}{tree.session}".encode())

        async with anyio.create_task_group() as tasks:
            for tree in trees:
                tasks.start_soon(use, tree)
        for tree in trees:
            contents = await tree.read(lambda files: [files.content(f"/n/{n}") for n in range(5)])
            assert contents == [f"{tree.principal}{tree.session}".encode()] * 5

    async def test_of_writers_of_one_version_exactly_one_wins(self, tree: Tree) -> None:
        """The others are told, and may read and try again: no increment is lost."""
        await tree.put("/count", b"0")
        conflicts = 0

        async def increment() -> None:
            nonlocal conflicts
            while True:
                entry, text = await tree.read(
                    lambda files: (files.entry("/count"), files.content("/count"))
                )
                assert entry is not None
                try:
                    await tree.put(
                        "/count", str(int(text or b"") + 1).encode(), known_version=entry.version
                    )
                except FileRefusedError:
                    conflicts += 1
                else:
                    return

        async with anyio.create_task_group() as tasks:
            for _ in range(16):
                tasks.start_soon(increment)
        assert await tree.read(lambda files: files.content("/count")) == b"16"
        assert conflicts > 0

    async def test_a_cancelled_write_leaves_the_store_usable(self, tree: Tree) -> None:
        """Whether it was committed is not known, but it is whole."""
        for number in range(10):
            with anyio.move_on_after(0):
                await tree.put(f"/{number}/x", b"x" * 1000)
        await tree.put("/last", b"y")
        entries = await tree.read(lambda files: files.files())
        assert entries[-1].path == "/last"
        assert {entry.size_bytes for entry in entries[:-1]} <= {1000}


class TestSecrets:
    BOX = SecretBox(b"k" * 32)

    async def _put(self, store: Store, value: bytes) -> None:
        await store.write(lambda found: Secrets(found, self.BOX).put("ann", "token", value))

    async def test_a_value_comes_back_and_is_not_in_the_database(
        self, store: Store, store_url: str
    ) -> None:
        """Only sealed; names and times may be shown."""
        for value in (b"hunter2", b"hunter3"):
            await self._put(store, value)
        reveal = await store.read(lambda found: Secrets(found, self.BOX).reveal("ann", "token"))
        assert reveal == b"hunter3"
        (name,) = await store.read(lambda found: Secrets(found, self.BOX).names("ann"))
        assert name.name == "token"
        assert name.updated_at > name.created_at
        rows = await store.read(
            lambda found: found.exec_driver_sql("select * from secrets").fetchall()
        )
        assert len(rows) == 1
        assert b"hunter" not in b"".join(bytes(each) for each in rows[0] if isinstance(each, bytes))

    async def test_it_belongs_to_its_owner(self, store: Store) -> None:
        """Another owner has another one, or none."""
        await self._put(store, b"a")
        assert await store.read(lambda f: Secrets(f, self.BOX).reveal("bob", "token")) is None
        assert not await store.write(lambda f: Secrets(f, self.BOX).delete("bob", "token"))
        assert await store.write(lambda f: Secrets(f, self.BOX).delete("ann", "token"))
        assert await store.read(lambda f: Secrets(f, self.BOX).names("ann")) == []

    async def test_a_row_that_was_moved_does_not_open(self, store: Store) -> None:
        """Owner and name are sealed with the value."""
        await self._put(store, b"a")
        await store.write(lambda found: found.exec_driver_sql("update secrets set owner = 'bob'"))
        with pytest.raises(StoreError, match="was changed outside of caps"):
            await store.read(lambda found: Secrets(found, self.BOX).reveal("bob", "token"))
