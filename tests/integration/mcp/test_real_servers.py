"""Servers as they are published: started, listed, called, confined, cancelled, stopped."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from caps.mcp.bridge_messages import Progress
from caps.mcp.client.config import McpServer
from caps.mcp.client.connection import OnProgress
from caps.mcp.client.pins import Pin, make_pin
from caps.mcp.client.probing import probe
from caps.mcp.client.registering import accepted_tools
from caps.mcp.client.servers import Servers, open_servers
from caps.protocol.errors import ProviderError
from support.mcp_servers import context, server
from support.node_tools import NODE
from support.web_servers import WebServer

pytestmark = pytest.mark.anyio

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def _give_up(reason: str) -> None:
    give_up = pytest.fail if os.environ.get("CAPS_FORBID_SKIPS") else pytest.skip
    give_up(reason)


def node(name: str) -> str:
    """A server of npm, which `make test` installs."""
    path = NODE / "node_modules" / ".bin" / name
    if not path.exists():
        _give_up(f"{name} is not installed: it needs npm")
    return str(path)


def python(name: str) -> str:
    """A server of PyPI, which the extra `dev` has."""
    return str(Path(sys.prefix) / "bin" / name)


class Opened:
    """A server that is called as if its tools had just been accepted."""

    def __init__(self, servers: Servers, configured: McpServer, pin: Pin) -> None:
        self.servers = servers
        self.configured = configured
        self.pin = pin

    async def call(
        self, tool: str, on_progress: OnProgress | None = None, **arguments: Any
    ) -> dict[str, Any]:
        with anyio.fail_after(120):
            return await self.servers.call(
                context(), self.pin, self.configured, tool, arguments, on_progress
            )


@asynccontextmanager
async def accepted(**config: Any) -> AsyncIterator[Opened]:
    configured = server("real", **{"start_ms": 120_000, **config})
    offer = await probe(configured)
    pin = make_pin(configured, offer.tools, offer.name, offer.version)
    assert [each.problem for each in accepted_tools(configured, pin) if each.problem] == []
    async with open_servers() as servers:
        yield Opened(servers, configured, pin)


async def test_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, images, resources, structured content, errors, progress, and an empty environment."""
    monkeypatch.setenv("CAPS_SECRET_EXAMPLE", "a secret of the host")
    env = {"PATH": _SYSTEM_PATH, "TOKEN": {"secret": "example"}}
    async with accepted(command=node("mcp-server-everything"), env=env) as opened:
        assert (await opened.call("echo", message="hi"))["text"] == "Echo: hi"
        found = await opened.call("get-structured-content", location="New York")
        assert set(found["structured"]) == {"temperature", "conditions", "humidity"}
        image = (await opened.call("get-tiny-image"))["content"][1]
        assert image["media_type"] == "image/png"
        assert base64.b64decode(image["data"]).startswith(b"\x89PNG")
        resource = await opened.call("get-resource-reference", resourceType="Text", resourceId=1)
        assert resource["content"][1]["uri"].startswith("demo://resource/")
        links = await opened.call("get-resource-links", count=2)
        assert [each["type"] for each in links["content"]] == ["text", "link", "link"]
        shown = await opened.call("get-env")
        assert "[secret]" in shown["text"]
        assert "a secret of the host" not in str(shown)
        assert str(os.environ.get("HOME")) not in shown["text"]
        with pytest.raises(ProviderError, match="Input validation error"):
            await opened.call("echo")
        told: list[Progress] = []
        await opened.call("trigger-long-running-operation", told.append, duration=0.4, steps=2)
        assert told
        assert told[-1].total == 2


async def test_a_cancelled_call_ends_and_the_server_stays() -> None:
    """The same process answers the next call."""
    async with accepted(
        command=node("mcp-server-everything"), env={"PATH": _SYSTEM_PATH}
    ) as opened:
        begun = anyio.Event()

        async def call_for_long() -> None:
            await opened.call(
                "trigger-long-running-operation",
                lambda _: begun.set(),
                duration=600,
                steps=2000,
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_for_long)
            with anyio.fail_after(60):
                await begun.wait()
            tasks.cancel_scope.cancel()
        (slot,) = opened.servers._slots.values()
        assert slot.connection is not None
        before = slot.connection.processes.server_pid
        assert (await opened.call("echo", message="hi"))["text"] == "Echo: hi"
        assert slot.connection.processes.server_pid == before


async def test_filesystem_is_confined_by_the_kernel(tmp_path: Path) -> None:
    """The server may read everything by its own rules; Landlock says what it can."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "note.txt").write_text("a note")
    (tmp_path / "outside.txt").write_text("not yours")
    confine = {"read": [str(NODE / "node_modules"), "/proc/self"], "write": [str(inside)]}
    async with accepted(
        command=node("mcp-server-filesystem"),
        args=[str(inside), str(tmp_path)],
        env={"PATH": _SYSTEM_PATH},
        confine=confine,
    ) as opened:
        assert (await opened.call("read_text_file", path=str(inside / "note.txt")))[
            "text"
        ] == "a note"
        await opened.call("write_file", path=str(inside / "new.txt"), content="new")
        assert (inside / "new.txt").read_text() == "new"
        with pytest.raises(ProviderError, match=r"EACCES|permission denied"):
            await opened.call("read_text_file", path=str(tmp_path / "outside.txt"))


async def test_time() -> None:
    """A server of the newest protocol version, confined without the network."""
    async with accepted(
        command=python("mcp-server-time"),
        confine={"read": [sys.prefix, sys.base_prefix]},
    ) as opened:
        found = await opened.call("get_current_time", timezone="Asia/Tokyo")
        assert "+09:00" in found["text"]
        with pytest.raises(ProviderError, match="timezone"):
            await opened.call("get_current_time", timezone="Nowhere/City")


async def test_git(tmp_path: Path) -> None:
    """Its command finds `git` by the search path that the configuration names."""
    git = shutil.which("git")
    assert git is not None
    for command in (["init", "-q"], ["add", "."]):
        (tmp_path / "file.txt").write_text("content")
        subprocess.run([git, *command], cwd=tmp_path, check=True)
    async with accepted(
        command=python("mcp-server-git"),
        args=["--repository", str(tmp_path)],
        env={"PATH": _SYSTEM_PATH, "HOME": str(tmp_path)},
    ) as opened:
        found = await opened.call("git_status", repo_path=str(tmp_path))
        assert "file.txt" in found["text"]


async def test_browser(tmp_path: Path) -> None:
    """Chromium behind the server behind the bridge: a page is opened, and all of it ends."""
    chromium = shutil.which("chromium")
    if chromium is None:
        _give_up("there is no Chromium")
    with WebServer() as web:
        address = web.page("/", "<title>A page</title><h1>Read by a browser</h1>")
        async with accepted(
            command=node("playwright-mcp"),
            args=[
                *("--headless", "--isolated", "--no-sandbox"),
                *("--executable-path", str(chromium)),
                *("--output-dir", str(tmp_path)),
            ],
            env={"PATH": _SYSTEM_PATH, "HOME": str(tmp_path)},
        ) as opened:
            await opened.call("browser_navigate", url=address)
            found = await opened.call("browser_snapshot")
            assert "Read by a browser" in found["text"]
            (slot,) = opened.servers._slots.values()
            assert slot.connection is not None
            keeper = slot.connection.processes.keeper
            assert keeper is not None
    assert not Path(f"/proc/{keeper.pid}").exists()
