"""Where the service is and who asks: arguments first, then variables, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.client import AsyncClient, Client, ClientSettings
from caps.client.routes import agents, sessions
from caps.protocol.errors import ConfigurationError
from support.scripted_server import http, scripted_server

LISTED = http(200, b'{"items": []}')


@pytest.mark.parametrize(
    "url",
    [
        "",
        "caps.example.org",
        "ftp://caps.example.org",
        "https://user:pass@caps.example.org",
        "https://caps.example.org?x=1",
        "https://[::1",
        "https://é.example.org",
        "http://caps.example.org",
        "http://10.0.0.1:8080",
    ],
)
def test_a_url_that_no_token_should_go_to_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain HTTP to another host only if the caller says so."""
    monkeypatch.delenv("CAPS_SERVER", raising=False)
    with pytest.raises(ConfigurationError):
        Client(url, token="t")
    with pytest.raises(ConfigurationError):
        AsyncClient(url, token="t")


def test_plain_http_can_be_allowed() -> None:
    """In a network that is trusted; on loopback always."""
    Client("http://caps:8080", token="t", plain_http=True).close()
    Client("http://localhost:8080", token="t").close()


@pytest.mark.parametrize("token", ["", "a\nb", "é", "x" * 9000])
def test_what_is_no_token_is_refused_and_not_shown(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a secret all the same."""
    monkeypatch.delenv("CAPS_TOKEN", raising=False)
    monkeypatch.delenv("CAPS_TOKEN_FILE", raising=False)
    with pytest.raises(ConfigurationError) as caught:
        Client("http://127.0.0.1", token=token)
    assert not token or token not in str(caught.value)


def test_the_variables_name_service_and_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A token comes before a file with one; arguments come before both."""
    file = tmp_path / "token"
    file.write_text("of-the-file\n")
    with scripted_server(*[LISTED] * 3) as server:
        monkeypatch.setenv("CAPS_SERVER", f"{server.url}/prefix/")
        monkeypatch.setenv("CAPS_TOKEN_FILE", str(file))
        for variable, argument in ((None, None), ("of-the-variable", None), ("x", "given")):
            if variable is not None:
                monkeypatch.setenv("CAPS_TOKEN", variable)
            with Client(token=argument) as client:
                client.list_capabilities()
        sent = [server.headers(number)["authorization"] for number in range(3)]
        assert server.requests[0].startswith(b"GET /prefix/v1/capabilities HTTP/1.1")
    assert sent == ["Bearer of-the-file", "Bearer of-the-variable", "Bearer given"]


def test_a_token_file_must_be_there(tmp_path: Path) -> None:
    """Told when the client is made."""
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Client("http://127.0.0.1", token_file=tmp_path / "none")


def test_a_token_is_in_no_representation() -> None:
    """Neither of the client nor of a request."""
    with Client("http://127.0.0.1", token="secret-token") as client:
        assert "secret-token" not in repr(client)
        assert "secret-token" not in repr(vars(client))


@pytest.mark.parametrize("agent_id", ["", ".", ".."])
def test_an_id_cannot_change_the_path(agent_id: str) -> None:
    """And what it holds is quoted."""
    with pytest.raises(ConfigurationError):
        agents.get_agent(agent_id)
    assert agents.get_agent("a/../b?x").path == "/v1/agents/a%2F..%2Fb%3Fx"


@pytest.mark.parametrize(
    ("session", "path"),
    [("a/files/b", "x"), ("..", "x"), ("s", ""), ("s", "a/../b"), ("s", "a//b")],
)
def test_a_file_cannot_be_one_of_another_session(session: str, path: str) -> None:
    """Nor another file; a path is quoted segment by segment."""
    with pytest.raises(ConfigurationError):
        sessions.download_file(session, path)
    found = sessions.download_file("s 1", "/a b/c?d")
    assert found.path == "/v1/sessions/s%201/files/a%20b/c%3Fd"


def test_what_is_not_text_is_refused() -> None:
    """In a path and in a query."""
    with pytest.raises(ConfigurationError, match="not text"):
        agents.get_agent("\udcff")
    with pytest.raises(ConfigurationError, match="not text"):
        agents.list_agents(name="\udcff").target("")


def test_a_request_is_bounded() -> None:
    """It is refused before anything is sent."""
    settings = ClientSettings(max_request_bytes=10)
    with scripted_server() as server, Client(server.url, token="t", settings=settings) as client:
        with pytest.raises(ConfigurationError, match="at most 10 bytes"):
            client.upload_file("s", "a", b"x" * 11)
        assert server.requests == []
