"""Real services, one on SQLite and one on a real PostgreSQL; tests use agents of their own."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from support.postgres import running_postgres
from support.service_process import ServiceProcess, running_service


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServiceProcess]:
    state = tmp_path_factory.mktemp(f"service-{request.param}")
    if request.param == "sqlite":
        with running_service(state, f"sqlite:///{state}/caps.db") as made:
            yield made
        return
    place = tmp_path_factory.mktemp("postgres")
    with (
        pytest.MonkeyPatch.context() as patched,
        running_postgres(place, patched) as server,
        running_service(state, server.create("service")) as made,
    ):
        yield made


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[httpx2.Client]:
    """An admin."""
    with service.client() as made:
        yield made
