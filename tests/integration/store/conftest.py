"""Each test of the store runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from caps.store import open_store
from caps.store.database import Store
from support.postgres import Postgres, running_postgres

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """One server; each test gets a database of its own."""
    place = tmp_path_factory.mktemp("postgres")
    with pytest.MonkeyPatch.context() as patched, running_postgres(place, patched) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def store_url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The URL of an empty place for a store."""
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/state/caps.db"
    server: Postgres = request.getfixturevalue("postgres")
    return server.create(f"store_{next(_numbers)}")


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with open_store(store_url) as opened:
        yield opened
