"""The version of the tables, and the way from one version to the next.

A migration is a module in `migrations/`, named `v0001_…`; its revision is the number. They form one
line, so a later number is a newer schema. A migration runs in one transaction on both databases, so
it is done or not done. Of several processes that open an old store, one migrates it while
the others wait, and these then find nothing to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from caps.store.columns import metadata
from caps.store.errors import SchemaNewerError

MIGRATIONS: Final = Path(__file__).parent / "migrations"
VERSION_TABLE: Final = "caps_schema"
# Any number that is ours: the lock is one of the whole database.
_LOCK: Final = 0x63617073

_version: Final = sa.table(VERSION_TABLE, sa.column("version_num", sa.String))


def newest_version() -> str:
    """The version that this code needs."""
    return max(file.name[1:5] for file in MIGRATIONS.glob("v[0-9][0-9][0-9][0-9]_*.py"))


def current_version(connection: sa.Connection) -> str | None:
    """The version of the tables; None if there are none yet."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.select(_version.c.version_num)).scalar()


def needs_upgrade(connection: sa.Connection, shown: str) -> bool:
    """Whether the tables are older than the code. SchemaNewerError if they are newer."""
    found, newest = current_version(connection), newest_version()
    if found is not None and found > newest:
        raise SchemaNewerError(
            f"the store `{shown}` has the schema `{found}` of a newer version of caps; this one "
            f"knows up to `{newest}`: upgrade caps, or use another store"
        )
    return found != newest


def upgrade(connection: sa.Connection, shown: str) -> tuple[str | None, str]:
    """Migrate to the newest version; return the version before and after. SchemaNewerError."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL lock_timeout = '60s'")
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    before = current_version(connection)
    if needs_upgrade(connection, shown):  # again: another process may have done it meanwhile
        _run_migrations(connection)
    return before, newest_version()


def problems(connection: sa.Connection, shown: str) -> list[str]:
    """What is wrong with the tables, in a line each. SchemaNewerError."""
    if needs_upgrade(connection, shown):
        found = current_version(connection) or "empty"
        return [f"the schema is {found}, and {newest_version()} is needed: run `caps db upgrade`"]
    return [*_damages(connection), *_differences(connection)]


def _damages(connection: sa.Connection) -> list[str]:
    """What SQLite itself finds. PostgreSQL has tools of its own for this."""
    if connection.dialect.name != "sqlite":
        return []
    rows = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars()
    damages = [f"damaged: {row}" for row in rows if row != "ok"]
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    return damages + [f"a row of {row[0]} belongs to no row of {row[2]}" for row in orphans[:20]]


def _differences(connection: sa.Connection) -> list[str]:
    """What differs between the tables of the database and those of the code."""
    from alembic.autogenerate import compare_metadata

    _load_tables()
    found: list[Any] = compare_metadata(_migration_context(connection), metadata)
    return [_described(each) for each in found]


def _run_migrations(connection: sa.Connection) -> None:
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(MIGRATIONS), version_locations=[str(MIGRATIONS)])

    def steps(revision: Any, _context: object) -> Any:
        return scripts._upgrade_revs("head", revision)  # noqa: SLF001 - as `alembic.command` does

    context = _migration_context(connection, fn=steps)
    with Operations.context(context):
        context.run_migrations()


def _migration_context(connection: sa.Connection, **options: Any) -> Any:
    from alembic.runtime.migration import MigrationContext

    return MigrationContext.configure(
        connection,
        opts={
            "version_table": VERSION_TABLE,
            "transactional_ddl": True,  # SQLite has it, too: we begin the transaction ourselves
            "target_metadata": metadata,
            "compare_type": False,
            "include_name": _is_ours,
            **options,
        },
    )


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Tables of others in the same database are not compared."""
    return kind != "table" or name in metadata.tables


def _load_tables() -> None:
    import importlib
    import pkgutil

    from caps.store import repositories

    for module in pkgutil.iter_modules(repositories.__path__):
        importlib.import_module(f"{repositories.__name__}.{module.name}")


def _described(difference: Any) -> str:
    parts = difference if isinstance(difference, tuple) else difference[0]
    names = [str(getattr(part, "name", part)) for part in parts[1:] if part is not None]
    return f"{parts[0].replace('_', ' ')}: {' '.join(names)}"
