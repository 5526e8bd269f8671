"""How long a server lives: until it is idle, its keeper dies, or the host is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from caps.mcp.client.servers import open_servers
from caps.protocol.errors import ProviderError
from support.mcp_servers import context, hostile, pinned
from support.processes import has_ended, open_pidfds

pytestmark = pytest.mark.anyio

_HOST = """
import anyio, sys
from caps.mcp.client.servers import open_servers
from support.mcp_servers import context, hostile, pinned

async def main():
    configured = hostile("leaves_an_orphan", sys.argv[1])
    async with open_servers() as servers:
        await servers.call(context(), pinned(configured), configured, "work", {}, None)
        (slot,) = servers._slots.values()
        processes = slot.connection.processes
        print(processes.server_pid, processes.bridge.pid, processes.keeper.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def _ends(pidfd: int) -> bool:
    return has_ended(pidfd, within_seconds=60)


async def test_nothing_survives_a_host_that_is_killed(tmp_path: Path) -> None:
    """The server, its orphan, its keeper and its bridge end without being told."""
    note = tmp_path / "orphan"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", _HOST, str(note)], stdout=subprocess.PIPE, env=environment
    ) as host:
        assert host.stdout is not None
        line = await anyio.to_thread.run_sync(host.stdout.readline)
        pids = [*map(int, line.split()), int(note.read_text())]
        assert len(pids) == 4
        with open_pidfds(*pids) as descriptors:
            assert len(descriptors) == 4
            host.kill()
            for pidfd in descriptors:
                assert await anyio.to_thread.run_sync(_ends, pidfd)


async def test_a_server_whose_keeper_is_killed_ends() -> None:
    """The call fails; nothing keeps running."""
    configured = hostile("call_hangs")
    async with open_servers() as servers, anyio.create_task_group() as tasks:

        async def call() -> None:
            with pytest.raises(ProviderError, match="closed its output"):
                await servers.call(context(), pinned(configured), configured, "work", {}, None)

        tasks.start_soon(call)
        with anyio.fail_after(60):
            while not servers._slots or not all(  # noqa: ASYNC110 - nothing tells of it
                slot.is_running for slot in servers._slots.values()
            ):
                await anyio.sleep(0.01)
        (slot,) = servers._slots.values()
        assert slot.connection is not None
        assert slot.connection.processes.keeper is not None
        slot.connection.processes.keeper.send_signal(signal.SIGKILL)


async def test_an_idle_server_is_stopped_and_started_again() -> None:
    """Without a pause: it did not fail."""
    configured = hostile("honest", idle_ms=1_000)
    async with open_servers() as servers:
        for _ in range(2):
            await servers.call(context(), pinned(configured), configured, "work", {}, None)
            (slot,) = servers._slots.values()
            assert slot.connection is not None
            with anyio.fail_after(60):
                await slot.connection.over.wait()
            assert slot.connection.reason == "nobody used it"


async def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    """By the notification of the protocol, which names the request."""
    note = tmp_path / "cancelled"
    configured = hostile("notes_cancellation", str(note))
    begun = anyio.Event()
    async with open_servers() as servers:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await servers.call(
                    context(),
                    pinned(configured),
                    configured,
                    "work",
                    {},
                    lambda _: begun.set(),
                )

            tasks.start_soon(call)
            with anyio.fail_after(60):
                await begun.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            while not note.exists():  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(0.01)
    assert isinstance(json.loads(note.read_text())["requestId"], int)
