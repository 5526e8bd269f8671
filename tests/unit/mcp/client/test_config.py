"""The file of servers: what it may say, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.opening.protected_paths import default_protected_paths
from caps.mcp.client.config import load_servers, servers_of
from caps.mcp.client.pins import PinStore
from caps.mcp.client.registering import register_mcp_servers
from caps.protocol.errors import ConfigurationError, PolicyInvalidError, RegistrationError
from caps.providers.builtin import builtin_registry
from support.mcp_servers import hostile, pinned, server


def test_servers_are_read_as_other_clients_write_them(tmp_path: Path) -> None:
    """A command with arguments and an environment, or an address."""
    path = tmp_path / "servers.json"
    path.write_text(
        '{"mcpServers": {"browser": {"command": "npx", "args": ["@playwright/mcp@latest"]},'
        ' "docs": {"type": "http", "url": "https://mcp.example.org/mcp"}}}'
    )
    browser, docs = load_servers(path)
    assert (browser.key, browser.config.command) == ("browser", "npx")
    assert (docs.key, docs.config.url) == ("docs", "https://mcp.example.org/mcp")
    assert browser.config.labels == ("untrusted",)
    assert browser.config.egress


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "either `command` or `url`"),
        ({"command": "x", "url": "https://a.example"}, "either `command` or `url`"),
        ({"url": "ftp://a.example"}, "`https://`"),
        ({"url": "https://a.example", "env": {"A": "b"}}, "belong to a `command`"),
        ({"command": "x", "headers": {"A": "b"}}, "belong to a `url`"),
        ({"command": "x", "env": {"A": {"secret": "Bad Name"}}}, "is not a name of a secret"),
        ({"command": "x", "env": {"A=B": "c"}}, "env"),
        ({"command": "x\0"}, "NUL"),
        ({"command": "x", "comand": "y"}, "comand"),
        ({"command": "x", "confine": {"read": ["relative"]}}, "absolute path"),
        ({"command": "x", "timeout_ms": 1}, "timeout_ms"),
    ],
)
def test_a_mistake_in_a_server_is_named(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=r"mcpServers\.a") as failure:
        server("a", **config)
    assert message in failure.value.message


def test_a_file_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    with pytest.raises(ConfigurationError, match="cannot be read: no such file"):
        load_servers(path)
    path.write_text("{")
    with pytest.raises(ConfigurationError, match="is not JSON, line 1"):
        load_servers(path)
    path.write_text('{"mcpServers": {}, "mcpServers": {}}')
    with pytest.raises(ConfigurationError, match="key is given twice"):
        load_servers(path)


def test_keys_that_are_one_domain_are_refused() -> None:
    config = {"command": "x"}
    with pytest.raises(ConfigurationError, match="`a-b` and `a_b` are both the domain"):
        servers_of({"mcpServers": {"a-b": config, "a_b": config}})


def test_a_key_that_code_cannot_write_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="`import` is a keyword of python; rename it"):
        servers_of({"mcpServers": {"import": {"command": "x"}}})


def test_no_scope_of_code_reaches_what_was_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy that would let code write there is refused, as for the policy's own file."""
    (tmp_path / "pins").mkdir()
    (tmp_path / "servers.json").write_text("{}")
    monkeypatch.setenv("CAPS_MCP_SERVERS", str(tmp_path / "servers.json"))
    monkeypatch.setenv("CAPS_MCP_PINS", str(tmp_path / "pins"))
    guarded = default_protected_paths()
    registry = builtin_registry(plugins="off")
    for place in ("pins", ""):
        policy = {
            "id": "p",
            "allow": ["files.write"],
            "scopes": {"files": {"allowlist": [str(tmp_path / place)], "read_only": False}},
        }
        with pytest.raises(PolicyInvalidError, match="MCP servers"):
            registry.bind(policy, guarded=guarded)


def test_a_key_that_is_a_domain_is_refused(tmp_path: Path) -> None:
    """Nobody's tools can look like functions of Caps."""
    registry = CapabilityRegistry()
    registry.domain("files")
    with pytest.raises(RegistrationError, match="which exists already; give it another key"):
        register_mcp_servers(registry, [hostile("honest", key="files")], PinStore(tmp_path))


def test_a_tool_that_the_configuration_does_not_list_is_not_a_function(tmp_path: Path) -> None:
    """And one that it lists wrongly is an error with the nearest name."""
    registry, pins = CapabilityRegistry(), PinStore(tmp_path)
    given = hostile("honest", tools=[])
    pins.write(pinned(given))
    register_mcp_servers(registry, [given], pins)
    assert len(registry) == 0
    wrong = hostile("honest", key="other", tools=["wrok"])
    pins.write(pinned(wrong))
    with pytest.raises(RegistrationError, match="has no tool `wrok`; did you mean `work`"):
        register_mcp_servers(registry, [wrong], pins)
    assert "other" not in registry.domains
