"""`caps mcp serve --http` by itself: its tokens, made by `caps token`, and its names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from support.mcp_serving import SECONDS, environment, http_server, policy_file

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}
PAGE = "https://console.example.org"
OWN = {"execute_code", "search_capabilities"}


def caps(state: Path, *options: str) -> str:
    code = "from caps.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *options],
        env=environment(state),
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return done.stdout.strip()


def opened(address: str, token: str, **headers: str) -> tuple[int, dict[str, str]]:
    """The status of `initialize`, and the headers for what follows."""
    client = {"name": "tests", "version": "1"}
    parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters}
    given = {**HEADERS, "Authorization": f"Bearer {token}", **headers}
    answer = httpx2.post(address, json=body, headers=given, timeout=SECONDS)
    return answer.status_code, {**given, "Mcp-Session-Id": answer.headers.get("mcp-session-id", "")}


def tools(address: str, token: str) -> set[str]:
    status, headers = opened(address, token)
    assert status == 200
    answer = httpx2.post(address, json=LIST, headers=headers, timeout=SECONDS)
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        (text,) = (line[6:] for line in text.splitlines() if line.startswith("data: {"))
    return {tool["name"] for tool in json.loads(text)["result"]["tools"]}


@pytest.mark.process
def test_tokens_and_names(tmp_path: Path) -> None:
    """A token confines as it does in `caps serve`; pages and names need the operator's word."""
    policy = policy_file(tmp_path, allow=["math.*", "time.now"])
    narrow = policy_file(tmp_path, id="narrow", allow=["time.now"])
    agent = tmp_path / "adder.json"
    agent.write_text('{"name": "adder", "capabilities": {"test_math": {"tools": ["add"]}}}')
    stored = json.loads(caps(tmp_path, "agents", "create", "--file", str(agent), "--json"))["id"]
    options = ("--policy", policy, "--allow-host", "caps.example.org", "--allow-origin", PAGE)
    with http_server(tmp_path, *options) as address:
        anybody = caps(tmp_path, "token")
        assert "math_add" in tools(address, anybody)
        assert tools(address, caps(tmp_path, "token", "--policy", narrow)) == {"time_now"} | OWN
        assert tools(address, caps(tmp_path, "token", "--agent", stored)) == {"add"} | OWN
        assert opened(address, "x")[0] == 401
        assert opened(address, caps(tmp_path, "token", "--role", "viewer"))[0] == 403
        assert opened(address, anybody, Host="caps.example.org", Origin=PAGE)[0] == 200
        assert opened(address, anybody, Host="evil.example")[0] == 421
        assert opened(address, anybody, Origin="https://evil.example")[0] == 403
