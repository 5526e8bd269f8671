"""The inspector of MCP, as people use it: it lists and calls tools over both transports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from support.mcp_serving import command, environment, http_server, policy_file
from support.node_tools import node_command


def inspect(state: Path, target: list[str], *options: str) -> Any:
    """What the inspector prints."""
    run = subprocess.run(
        [*node_command("inspector"), "--cli", *target, *options],
        env={**environment(state), "HOME": str(state)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def check(state: Path, target: list[str]) -> None:
    listed = inspect(state, target, "--method", "tools/list")
    assert {"math_add", "execute_code"} <= {tool["name"] for tool in listed["tools"]}
    call = ("--method", "tools/call", "--tool-name", "math_add", "--tool-arg", "a=1", "b=2")
    assert inspect(state, target, *call)["structuredContent"] == {"result": 3}


def test_the_inspector_uses_a_server_on_pipes(tmp_path: Path) -> None:
    """With the command that a client's configuration has."""
    node_command("inspector")
    policy = policy_file(tmp_path, allow=["math.*"])
    config = tmp_path / "servers.json"
    program, *arguments = command("--policy", policy, "--audit", str(tmp_path / "audit"))
    server = {"command": program, "args": arguments, "env": environment(tmp_path)}
    config.write_text(json.dumps({"mcpServers": {"caps": server}}))
    check(tmp_path, ["--config", str(config), "--server", "caps"])


def test_the_inspector_uses_a_server_over_http(tmp_path: Path) -> None:
    """Without a token, on loopback."""
    node_command("inspector")
    policy = policy_file(tmp_path, allow=["math.*"])
    with http_server(tmp_path, "--no-token", "--policy", policy) as address:
        check(tmp_path, [address])
