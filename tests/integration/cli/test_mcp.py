"""`caps mcp`: list, accept, check and use external servers from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.commands import run_caps
from support.mcp_servers import HOSTILE


class Place:
    """A directory with a file of servers."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.file = directory / "servers.json"
        monkeypatch.setenv("CAPS_MCP_SERVERS", str(self.file))
        monkeypatch.setenv("CAPS_AUDIT_PATH", str(directory / "audit"))
        monkeypatch.delenv("CAPS_MCP_PINS", raising=False)

    def configure(self, mode: str = "honest", **more: Any) -> None:
        args = ["-I", "-S", str(HOSTILE), mode]
        config = {"command": sys.executable, "args": args, "protocol": "legacy", **more}
        self.file.write_text(json.dumps({"mcpServers": {"notes": config}}))

    def caps(self, *arguments: str) -> tuple[int, str]:
        done = run_caps(self.directory, *arguments)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


def test_a_server_is_used_after_its_tools_were_accepted(place: Place) -> None:
    """And not before; a change of its command needs another acceptance."""
    place.configure()
    policy = place.directory / "policy.json"
    policy.write_text('{"version": 1, "id": "p", "allow": ["notes.*"]}')
    assert "not accepted" in place.caps("mcp", "list")[1]
    code, said = place.caps("mcp", "check", "notes", "--json")
    assert (code, json.loads(said)[0]["ok"]) == (7, False)
    shown = "notes.work  Do some work.\n1 of 1 tools of `notes` are accepted\n"
    assert place.caps("mcp", "accept", "notes") == (0, shown)
    assert place.caps("mcp", "accept", "notes") == (0, shown.partition("\n")[2])
    assert place.caps("mcp", "tools") == (0, "notes.work  Do some work.\n")
    assert place.caps("mcp", "check") == (0, "notes  offers what was accepted\n")
    called = place.caps("call", "notes.work", '{"text": "x"}', "--policy", str(policy), "--json")
    assert json.loads(called[1])["value"]["text"] == "done"
    place.configure("lists_schema_bomb")
    assert "configuration changed" in place.caps("mcp", "list")[1]
    code, said = place.caps("mcp", "accept", "notes", "--json")
    accepted = json.loads(said)
    assert accepted["drift"] == {"added": [], "removed": [], "changed": ["work"]}
    assert accepted["tools"][0]["function"] is None
    assert "20000 nodes" in accepted["tools"][0]["problem"]


def test_a_mistake_is_named(place: Place) -> None:
    """In one line, with the nearest name."""
    place.configure()
    code, said = place.caps("mcp", "accept", "note")
    assert (code, said) == (2, "caps: there is no MCP server `note`; did you mean `notes`?\n")
    place.configure(comand="x")
    code, said = place.caps("mcp", "list")
    assert code == 2
    assert "`mcpServers.notes.comand`" in said
    place.configure("start_exits")
    code, said = place.caps("mcp", "accept", "notes")
    assert code == 6
    assert "the MCP server `notes`: the server closed its output" in said


def test_a_pin_that_was_edited_does_not_count(place: Place) -> None:
    """Its digests say so, and nothing starts with it."""
    place.configure()
    place.caps("mcp", "accept", "notes")
    (pin,) = place.directory.rglob("notes.json")
    assert pin.stat().st_mode & 0o077 == 0
    pin.write_text(pin.read_text().replace("Do some work.", "Do other work."))
    code, said = place.caps("functions")
    assert code == 2
    assert "was changed by hand; accept them again" in said


def test_accepting_publishes_the_tool_cards(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a function with a required card can be called."""
    monkeypatch.setenv("CAPS_CAPABILITY_CARDS", "refuse")
    place.configure()
    policy = place.directory / "policy.json"
    policy.write_text('{"version": 1, "id": "p", "allow": ["notes.work"]}')
    assert place.caps("mcp", "accept", "notes")[0] == 0
    assert "notes.work" in place.caps("tools", "list")[1]
    called = place.caps("call", "notes.work", "{}", "--policy", str(policy), "--json")
    assert json.loads(called[1])["value"]["text"] == "done"
