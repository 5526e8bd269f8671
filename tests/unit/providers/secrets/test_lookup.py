"""Where `secrets.handle` finds a value: the environment, the directory, the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection

from caps.protocol.errors import ProviderError
from caps.providers.secrets.lookup import EVERYBODY
from caps.store import open_store
from caps.store.repositories.secrets import Secrets
from caps.store.sealing import load_secret_box
from support.web_calls import policy, web_calls
from support.web_servers import WebServer

pytestmark = pytest.mark.anyio

SCOPE = {"github": {"hosts": ["127.0.0.1"]}}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("CAPS_DATABASE_URL", raising=False)
    return tmp_path / "caps"


async def put(**values: str) -> None:
    """Store `github` for each owner; `everybody` is for all."""
    box = load_secret_box()

    def work(connection: Connection) -> None:
        for owner, value in values.items():
            key = EVERYBODY if owner == "everybody" else owner
            Secrets(connection, box).put(key, "github", value.encode())

    async with open_store() as store:
        await store.write(work)


async def sent_for(principal: str) -> str:
    """What a server gets in the place of the handle."""
    with WebServer() as server:
        url = server.page("/", "x", "text/plain")
        async with web_calls(policy(server.port, secrets=SCOPE)) as calls:
            broker = calls.execution(principal=principal)
            handle = await calls.call("secrets.handle", {"name": "github"}, broker)
            await calls.fetch(url, broker, headers={"X-Token": handle})
        return server.seen[0].headers["x-token"]


async def test_a_principal_has_its_own_before_that_of_everybody() -> None:
    """And nobody else's."""
    await put(ada="value of ada", everybody="value of all")
    assert await sent_for("ada") == "value of ada"
    assert await sent_for("eve") == "value of all"


async def test_the_host_comes_before_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment, then the directory."""
    await put(everybody="value of the store")
    (tmp_path / "github").write_text("value of the file\n")
    monkeypatch.setenv("CAPS_SECRETS_PATH", str(tmp_path))
    assert await sent_for("ada") == "value of the file"
    monkeypatch.setenv("CAPS_SECRET_GITHUB", "value of the variable")
    assert await sent_for("ada") == "value of the variable"


async def test_no_store_is_created(state: Path) -> None:
    """Looking for a secret leaves nothing behind."""
    with pytest.raises(ProviderError, match="there is no secret `github`"):
        await sent_for("ada")
    assert not state.exists()


async def test_a_store_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is an error that says nothing of the place; so is a secret of another key."""
    await put(everybody="value of the store")
    other = tmp_path / "other.key"
    other.write_text("00" * 32)
    other.chmod(0o600)
    monkeypatch.setenv("CAPS_STORE_KEY_FILE", str(other))
    with pytest.raises(ProviderError, match="the store of the host failed"):
        await sent_for("ada")
    monkeypatch.setenv("CAPS_DATABASE_URL", "mysql://user:pass@host/db")
    with pytest.raises(ProviderError, match="the secrets of the store are not available"):
        await sent_for("ada")
