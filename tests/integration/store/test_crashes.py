"""What was acknowledged survives `kill -9`, and nothing is half there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from caps.store import open_store
from caps.store.migrate import problems
from caps.store.repositories.session_files import SessionFiles
from caps.store.repositories.sessions import Sessions
from support.store_writer import content_of

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]
ROUNDS = 4


@contextmanager
def writer(url: str, name: str) -> Iterator[subprocess.Popen[str]]:
    """A process that writes, until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "support.store_writer", url, name],
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def acknowledged(process: subprocess.Popen[str], count: int) -> int:
    """Kill the writer after `count` acknowledged writes; return the last acknowledged number."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(count)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    assert process.wait() == -signal.SIGKILL
    whole = ("".join(lines) + rest).rpartition("\n")[0]  # the last line may be torn
    return int(whole.splitlines()[-1])


async def test_what_was_acknowledged_is_there_and_complete(store_url: str) -> None:
    """Several writers are killed in the middle of their writes, again and again."""
    last: dict[str, int] = {}
    for turn in range(ROUNDS):
        names = [f"{turn}-{which}" for which in "ab"]
        with ExitStack() as stack:
            processes = {name: stack.enter_context(writer(store_url, name)) for name in names}
            last |= {
                name: acknowledged(process, 3 + 4 * turn) for name, process in processes.items()
            }

    def found(connection: Connection) -> list[str]:
        session = Sessions(connection).find("ann", "s")
        assert session is not None
        files = SessionFiles(connection, session)
        for name, number in last.items():
            total = int(files.content(f"/{name}/total") or b"0")
            # The last transaction may have been committed without its acknowledgement being read.
            assert number <= total <= number + 1
            for each in range(1, total + 1):
                assert files.content(f"/{name}/{each}") == content_of(each)
            assert files.entry(f"/{name}/{total + 1}") is None, "both files or none"
        return problems(connection, "it")

    async with open_store(store_url) as store:
        assert await store.read(found) == []


async def test_a_killed_migration_is_done_again(store_url: str) -> None:
    """A process that is killed while it opens a new store leaves nothing half made."""
    for _ in range(ROUNDS):
        with writer(store_url, "x") as process:
            process.kill()  # most often while it imports or migrates
            process.wait()
    async with open_store(store_url) as store:
        assert await store.read(lambda connection: problems(connection, "it")) == []
