"""A store that is locked, full, damaged, gone or not installed: one line, and nothing swallowed."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, event

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.protocol.errors import ConfigurationError
from caps.store import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
    open_store,
)
from caps.store import sqlite as sqlite_module
from caps.store.migrate import problems
from caps.store.repositories.session_files import SessionFiles
from caps.store.repositories.sessions import Sessions
from support.postgres import Postgres

pytestmark = pytest.mark.anyio

POLICY = {"allow": ["session_files.*"], "scopes": {"session_files": {}}}


def put(path: str = "/a", content: bytes = b"x") -> Any:
    def work(connection: Connection) -> None:
        SessionFiles(connection, Sessions(connection).change("ann", "s")).put(path, content)

    return work


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "caps.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


async def test_a_locked_file_is_busy_and_works_again(
    url: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the lock for longer than the store waits."""
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.05)
    async with open_store(url) as store:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="is locked by another process"):
            await store.write(put())
        assert await store.read(lambda connection: 1) == 1, "readers do not wait for writers"
        other.execute("ROLLBACK")
        other.close()
        await store.write(put())


async def test_a_full_disk_is_said_and_changes_nothing(url: str) -> None:
    """SQLite may not grow the file any more, as on a full disk."""
    async with open_store(url) as store:
        await store.write(put())
        engine = store._database._engine  # type: ignore[attr-defined]
        engine.dispose()
        event.listen(engine, "connect", lambda found, _: found.execute("PRAGMA max_page_count=30"))
        with pytest.raises(StoreFullError, match="has no room left"):
            await store.write(put("/b", bytes(1_000_000)))
        await store.write(put("/c", b"small"))
        engine.dispose()
    async with open_store(url) as store:
        assert await store.read(lambda connection: problems(connection, "it")) == []


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"x" * 4096]
)
async def test_a_file_that_is_no_database_is_refused(url: str, file: Path, content: bytes) -> None:
    """It is left as it is."""
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(StoreError, match=f"the store `{file}` is"):
        async with open_store(url):
            pass
    assert file.read_bytes() == content


async def test_a_place_that_cannot_be_opened(tmp_path: Path) -> None:
    """A directory is in its place, or a file is above it."""
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    for name in ("file/caps.db", "directory"):
        with pytest.raises(StoreUnreachableError, match="cannot be opened: "):
            async with open_store(f"sqlite:///{tmp_path}/{name}"):
                pass


async def test_the_file_is_open_to_its_owner_only(url: str, file: Path) -> None:
    """Also the write-ahead log next to it."""
    async with open_store(url) as store:
        await store.write(put())
        assert {each.name: each.stat().st_mode & 0o777 for each in file.parent.iterdir()} == {
            "caps.db": 0o600,
            "caps.db-wal": 0o600,
            "caps.db-shm": 0o600,
        }
    assert file.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_on_trio_there_is_sqlite(url: str, anyio_backend: str) -> None:
    """The driver of PostgreSQL needs asyncio, and says so before it connects."""
    async with open_store(url) as store:
        await store.write(put())
    with pytest.raises(ConfigurationError, match="the store on PostgreSQL needs asyncio"):
        async with open_store("postgresql://localhost:1/x"):
            pass


async def test_a_server_that_does_not_answer() -> None:
    """Nothing listens there; the password is not shown."""
    with pytest.raises(StoreUnreachableError) as raised:
        async with open_store("postgresql://ann:hunter2@127.0.0.1:1/caps"):
            pass
    assert raised.value.message == "the store `postgresql://127.0.0.1:1/caps` does not answer"
    assert "hunter2" not in repr(raised.value)


async def test_a_database_that_does_not_exist(postgres: Postgres) -> None:
    """The server says so."""
    with pytest.raises(StoreUnreachableError, match="does not exist on its server"):
        async with open_store(postgres.url_of("missing")):
            pass


async def test_a_server_that_restarts_costs_no_call(postgres: Postgres) -> None:
    """While it is down, calls fail in one line; afterwards the same store works."""
    async with open_store(postgres.create("restarted")) as store:
        await store.write(put())
        await anyio.to_thread.run_sync(postgres.stop)
        try:
            with pytest.raises(StoreUnreachableError, match="does not answer"):
                await store.write(put("/b"))
        finally:
            await anyio.to_thread.run_sync(postgres.start)
        await store.write(put("/b"))


async def test_a_row_that_is_locked_is_busy(postgres: Postgres) -> None:
    """After the timeout of the server's lock; readers do not wait."""
    place = postgres.create("locked")
    async with open_store(f"{place}&options=-clock_timeout%3D100") as store:
        await store.write(put())
        import psycopg

        with psycopg.connect(postgres.server.get_uri(database="locked")) as other:
            other.execute("update sessions set revision = revision + 1")
            with pytest.raises(StoreBusyError, match="is locked"):
                await store.write(put("/b"))
            assert await store.read(lambda connection: 1) == 1
        await store.write(put("/b"))


async def test_user_space_learns_what_to_do_and_no_place_of_the_host(
    url: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log of the host has the rest."""
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.05)
    monkeypatch.setenv("CAPS_DATABASE_URL", url)
    async with Runtime(
        POLICY, registry=builtin_registry(plugins="off"), audit=MemoryAuditLog()
    ) as runtime:
        payload = {"path": "/a", "content": "x"}
        file.parent.mkdir()
        file.write_bytes(b"no database" * 1000)
        with caplog.at_level(logging.ERROR):
            broken = await runtime.call("session_files.write", payload, session="s")
        assert broken.error is not None
        assert broken.error.message.startswith("the store of the host cannot be reached")
        assert str(file) not in broken.error.message
        assert f"the store `{file}` is not a database of SQLite" in caplog.text
        file.unlink()
        (await runtime.call("session_files.write", payload, session="s")).unwrap()
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        busy = await runtime.call("session_files.write", payload, session="s")
        other.close()
    assert busy.error is not None
    assert busy.error.message == "the store of the host is busy; try again"


WITHOUT = """
import sys
for name in ("sqlalchemy", "alembic", "greenlet", "psycopg"):
    sys.modules[name] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: (
    None if sys.modules.get(name, 1) is None else found(name, *rest))
from caps.cli.main import main
sys.argv[1:] = sys.argv[1:]
main()
"""


def test_without_the_extra_everything_else_works(tmp_path: Path) -> None:
    """`caps run` runs as always; a call that needs the store says what to install."""
    policy = tmp_path / "p.json"
    policy.write_text('{"allow": ["session_files.*", "math.add"], "scopes": {"session_files": {}}}')
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", WITHOUT, *arguments],
            capture_output=True,
            text=True,
            env=env,
            timeout=60,
            check=False,
        )

    options = ("--policy", str(policy), "--session", "s")
    assert run("call", "math.add", '{"a": 1, "b": 2}', *options).returncode == 0
    done = run("call", "session_files.list", *options)
    assert done.returncode == 1
    assert "install `caps-runtime[store]`" in done.stderr
    assert run("db", "check").stderr == (
        "caps: the store needs the extra `store`; install `caps-runtime[store]`\n"
    )
