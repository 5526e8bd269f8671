"""The configurations in docs/integrations.md: they are JSON, and their command is a server."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from support.mcp_serving import environment, policy_file

PAGE = Path(__file__).parents[3] / "docs" / "integrations.md"
CAPS = Path(sys.executable).with_name("caps")


def configurations() -> list[dict[str, Any]]:
    """The server in each block of JSON."""
    found = []
    for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL):
        document = json.loads(block)
        (servers,) = document.values()
        assert set(document) <= {"mcpServers", "servers"}
        found.append(servers["caps"])
    return found


def test_the_page_has_all_clients() -> None:
    """Four with a command, one with an address."""
    assert len([each for each in configurations() if "command" in each]) == 4
    (http,) = [each for each in configurations() if "url" in each]
    assert http["url"] == "http://127.0.0.1:8090/mcp"


@pytest.mark.parametrize("place", range(4))
def test_its_command_serves_tools(place: int, tmp_path: Path) -> None:
    """As the client would start it, in a directory with that policy."""
    server = [each for each in configurations() if "command" in each][place]
    assert server["command"] == "caps"
    policy_file(tmp_path, id="policy", allow=["time.now"])
    parameters = StdioServerParameters(
        command=str(CAPS), args=server["args"], env=environment(tmp_path), cwd=tmp_path
    )

    async def main() -> None:
        with (tmp_path / "stderr").open("w") as errors:
            async with Client(stdio_client(parameters, errlog=errors)) as client:
                assert "time_now" in {tool.name for tool in (await client.list_tools()).tools}

    anyio.run(main)
