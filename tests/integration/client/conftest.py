"""One real service on SQLite, whose clients are tested."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caps.client import Client
from support.service_process import POLICY, ServiceProcess, running_service, token

ALLOWED = {
    **POLICY,
    "allow": ["math.*", "time.now", "session_files.*"],
    "scopes": {"session_files": {}},
}


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    state = tmp_path_factory.mktemp("service-of-clients")
    with running_service(state, f"sqlite:///{state}/caps.db", policy=ALLOWED) as made:
        yield made


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[Client]:
    """An admin."""
    with Client(service.address, token=token()) as made:
        yield made
