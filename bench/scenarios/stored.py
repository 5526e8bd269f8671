"""Session files: a write and a read of one file, against the same in plain SQLite.

Both keep the same durability: a write-ahead log that is synced at each commit.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from bench.figures import Comparison, Samples
from bench.interleaving import Contender, Progress, Rounds, Stopwatch, Turn, take_turns
from bench.rows import Effort, Row
from bench.sides.caps import LIMITS
from caps import AuditLog, Durability, Runtime, builtin_registry

_FILES = 20
_CONTENT = "x" * 2000
_POLICY = {
    "id": "bench",
    "allow": ["session_files.*"],
    "scopes": {"session_files": {}},
    "limits": LIMITS,
}
_URL = "CAPS_DATABASE_URL"
# Each file in turn, so that no write is of a file that was written just before.
_WRITES = f"""\
import time
names = ["/dir/%d" % n for n in range({_FILES})]
for name in names:
    await caps.session_files.read(path=name)
began = time.perf_counter()
for name in names:
    await caps.session_files.write(path=name, content={_CONTENT!r})
(time.perf_counter() - began) * 1_000_000 / {_FILES}
"""
_READS = f"""\
import time
names = ["/dir/%d" % n for n in range({_FILES})]
began = time.perf_counter()
for name in names:
    await caps.session_files.read(path=name)
(time.perf_counter() - began) * 1_000_000 / {_FILES}
"""
_PREPARED = f"""\
for n in range({_FILES}):
    await caps.session_files.write(path="/dir/%d" % n, content={_CONTENT!r})
"""


def _ours(code: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Calls from the sandbox, decided, recorded (durability `os`) and answered."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        with tempfile.TemporaryDirectory() as directory:
            before = os.environ.get(_URL)
            os.environ[_URL] = f"sqlite:///{directory}/caps.db"
            try:
                async with (
                    AuditLog.open(Path(directory, "audit"), durability=Durability.OS) as audit,
                    Runtime(_POLICY, registry=builtin_registry(), audit=audit) as runtime,
                ):
                    (await runtime.run(_PREPARED, session="bench")).unwrap()

                    async def turn() -> float:
                        return float((await runtime.run(code, session="bench")).unwrap())

                    yield turn
            finally:
                if before is None:
                    del os.environ[_URL]
                else:
                    os.environ[_URL] = before

    return opened


def _plain(*, writes: bool) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """One statement an operation, in the same thread: no sandbox, no check, no record."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        with tempfile.TemporaryDirectory() as directory:
            connection = sqlite3.connect(f"{directory}/plain.db", isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("CREATE TABLE files (path TEXT PRIMARY KEY, content BLOB)")
            rows = [(f"/dir/{n}", _CONTENT.encode()) for n in range(_FILES)]
            put = "INSERT OR REPLACE INTO files VALUES (?, ?)"
            connection.executemany(put, rows)

            async def turn() -> float:
                with Stopwatch() as watch:
                    for row in rows:
                        if writes:
                            connection.execute(put, row)
                        else:
                            query = "SELECT content FROM files WHERE path = ?"
                            connection.execute(query, row[:1]).fetchone()
                return watch.microseconds / _FILES

            yield turn
            connection.close()

    return opened


async def _measured(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps, write", _ours(_WRITES)),
        Contender("SQLite, write", _plain(writes=True)),
        Contender("caps, read", _ours(_READS)),
        Contender("SQLite, read", _plain(writes=False)),
    )
    return await take_turns(
        sides, Rounds(effort.of(25, 3), effort.of(15, 2.0), warm_up=1), progress
    )


ROWS = (
    Row(
        name="session_files",
        title="a session file of 2 KB, written and read (time of one call)",
        comparisons=(
            Comparison(name="session_files_write", ours="caps, write", against="SQLite, write"),
            Comparison(name="session_files_read", ours="caps, read", against="SQLite, read"),
        ),
        measure=_measured,
    ),
)
