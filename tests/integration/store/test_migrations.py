"""Opening migrates: once, safely, and never back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from caps.store import SchemaNewerError, migrate, open_store
from caps.store.database import Mode
from caps.store.migrate import VERSION_TABLE, current_version, newest_version, problems, upgrade
from caps.store.open_store import open_database
from caps.store.repositories.sessions import Sessions

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]
OPEN = """
import sys, anyio
from caps.store import open_store
async def main():
    sys.stdin.readline()
    async with open_store(sys.argv[1]) as store:
        print(await store.read(lambda connection: 1))
anyio.run(main)
"""


async def run(url: str, statement: str) -> None:
    async with open_database(url) as database:
        await database.transact(lambda found: found.execute(sa.text(statement)), Mode.WRITE)


async def test_the_tables_are_those_of_the_code(store_url: str) -> None:
    """Migrations and table definitions say the same, and opening twice changes nothing."""
    for _ in range(2):
        async with open_store(store_url) as store:
            assert await store.read(current_version) == newest_version()
            assert await store.read(lambda connection: problems(connection, "it")) == []


async def test_an_empty_store_needs_an_upgrade(store_url: str) -> None:
    """`upgrade` says from where to where; again it has nothing to do."""
    async with open_database(store_url) as database:
        (problem,) = await database.transact(lambda found: problems(found, "it"), Mode.READ)
        assert problem == (
            f"the schema is empty, and {newest_version()} is needed: run `caps db upgrade`"
        )
        for before in (None, newest_version()):
            done = await database.transact(lambda found: upgrade(found, "it"), Mode.MIGRATE)
            assert done == (before, newest_version())


async def test_processes_that_open_a_new_store_at_once_all_get_it(store_url: str) -> None:
    """One of them migrates, the others wait for it."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, store_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [process.communicate(timeout=60) for process in processes]
    assert [(out, err) for out, err in results] == [("1\n", "")] * 4
    async with open_store(store_url) as store:
        assert await store.read(lambda connection: problems(connection, "it")) == []


async def test_a_newer_schema_is_refused(store_url: str) -> None:
    """In one line that says what to do, also by the commands; nothing is changed."""
    async with open_store(store_url):
        pass
    await run(store_url, f"update {VERSION_TABLE} set version_num = '9999'")
    for _ in range(2):
        with pytest.raises(SchemaNewerError) as raised:
            async with open_store(store_url):
                pass
        assert "has the schema `9999` of a newer version of caps" in raised.value.message
        assert "upgrade caps, or use another store" in raised.value.message
    async with open_database(store_url) as database:
        with pytest.raises(SchemaNewerError):
            await database.transact(lambda found: upgrade(found, "it"), Mode.MIGRATE)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("alter table secrets drop column nonce", "add column: secrets nonce"),
        (
            "drop index session_files_session_id_parent_path",
            "add index: session_files_session_id_parent_path",
        ),
    ],
)
async def test_a_check_finds_what_was_changed(store_url: str, statement: str, problem: str) -> None:
    """Somebody altered a table outside of Caps."""
    async with open_store(store_url):
        pass
    await run(store_url, statement)
    async with open_store(store_url) as store:
        assert await store.read(lambda connection: problems(connection, "it")) == [problem]


NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "9001"
down_revision = "{newest}"


def upgrade():
    op.add_column("sessions", sa.Column("colour", sa.Text, server_default="red"))
    {failure}
"""


async def test_an_older_store_is_migrated_and_keeps_what_it_has(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A migration that fails leaves the old version; one that succeeds is done once."""
    async with open_store(store_url) as store:
        await store.write(lambda found: Sessions(found).change("ann", "s"))
    newer = shutil.copytree(migrate.MIGRATIONS, tmp_path / "newer")
    monkeypatch.setattr(migrate, "MIGRATIONS", newer)
    newest, step = newest_version(), newer / "v9001_next.py"
    step.write_text(NEXT.format(newest=newest, failure="raise RuntimeError('half way')"))
    with pytest.raises(RuntimeError, match="half way"):
        async with open_store(store_url):
            pass
    async with open_database(store_url) as database:
        assert await database.transact(current_version, Mode.READ) == newest
    step.write_text(NEXT.format(newest=newest, failure="pass"))
    for _ in range(2):
        async with open_store(store_url) as store:
            rows = await store.read(
                lambda found: found.execute(sa.text("select name, colour from sessions")).all()
            )
            assert [tuple(row) for row in rows] == [("s", "red")]
            assert await store.read(current_version) == "9001"


async def test_tables_of_others_are_left_alone(store_url: str) -> None:
    """They may share the database."""
    await run(store_url, "create table theirs (id integer)")
    async with open_store(store_url) as store:
        assert await store.read(lambda connection: problems(connection, "it")) == []
