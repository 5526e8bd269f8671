"""A server that hangs, crashes, floods or lies costs its own processes, and the host nothing."""

from __future__ import annotations

import resource
from pathlib import Path

import anyio
import pytest

from caps.mcp.client.pins import digests_of
from caps.mcp.client.probing import probe
from caps.mcp.client.registering import accepted_tools
from caps.mcp.client.servers import MAX_UNANSWERED, Servers, open_servers
from caps.protocol.errors import ProviderError
from support.hostile_mcp_server import BAD_LISTS, CALLS, EXTRAS, LIES
from support.mcp_servers import HOSTILE_TOOL, context, hostile, pinned, plain_text

pytestmark = pytest.mark.anyio

# What a host may grow by while it handles one of them.
_MAX_GROWTH_KB = 160 * 1024


async def call(servers: Servers, mode: str, text: str = "x") -> str:
    configured = hostile(mode, memory_mb=512)
    arguments = {"text": text}
    value = await servers.call(context(), pinned(configured), configured, "work", arguments, None)
    return plain_text(value)


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def check_message(error: ProviderError) -> None:
    assert len(error.message) < 2200
    assert "\x1b" not in error.message


@pytest.mark.parametrize("mode", sorted(CALLS))
async def test_a_server_that_misbehaves_ends_and_the_call_fails(mode: str) -> None:
    """The caller gets an error; the host's memory stays small."""
    before = peak_kb()
    async with open_servers() as servers:
        with anyio.fail_after(60), pytest.raises(ProviderError) as failure:
            await call(servers, mode)
        check_message(failure.value)
    assert peak_kb() - before < _MAX_GROWTH_KB


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_lie_costs_only_its_call() -> None:
    """One process gives every answer that does not fit, and what comes beside a right one."""
    before = peak_kb()
    async with open_servers() as servers:
        for lie in LIES:
            with anyio.fail_after(60), pytest.raises(ProviderError) as failure:
                pytest.fail(f"{lie} gave {await call(servers, 'lies', lie)}")
            check_message(failure.value)
        for extra in EXTRAS:
            with anyio.fail_after(60):
                assert await call(servers, "lies", extra) == "done"
        assert len(servers._slots) == 1
    assert peak_kb() - before < _MAX_GROWTH_KB


async def test_a_caller_can_give_up() -> None:
    """A server that never answers is told so, and after several such calls it is ended."""
    async with open_servers() as servers:
        for _ in range(MAX_UNANSWERED):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, servers, "call_hangs")
                await _until(servers, is_busy=True)
                tasks.cancel_scope.cancel()
            await _until(servers, is_busy=False)
        (slot,) = servers._slots.values()
        assert slot.connection is not None
        with anyio.fail_after(60):
            await slot.connection.over.wait()


async def _until(servers: Servers, *, is_busy: bool) -> None:
    """Wait until a call is in flight at the server itself, or until none is."""
    with anyio.fail_after(60):
        while is_busy != any(  # noqa: ASYNC110 - nothing tells of it
            slot.connection is not None and slot.connection.is_busy and not slot.opening.locked()
            for slot in servers._slots.values()
        ):
            await anyio.sleep(0.01)


async def test_a_tool_with_a_hostile_schema_is_listed_and_refused() -> None:
    """It comes through the bridge as it is, and never becomes a function."""
    configured = hostile("lists_schema_bomb")
    offer = await probe(configured)
    found = accepted_tools(configured, pinned(configured, *offer.tools))
    assert [each.spec for each in found] == [None]
    assert "20000 nodes" in found[0].problem


@pytest.mark.parametrize(
    "mode", [*sorted(BAD_LISTS), "lists_in_a_loop", "lists_endlessly", "lists_never"]
)
async def test_a_list_that_cannot_be_used_is_an_error(mode: str) -> None:
    """Endless pages, repeated names, wrong types."""
    with pytest.raises(ProviderError):
        digests_of((await probe(hostile(mode, start_ms=3_000))).tools)


@pytest.mark.parametrize(
    "mode",
    [
        "start_hangs",
        "start_exits",
        "start_floods_errors",
        "start_hogs_memory",
        "start_prints_garbage",
        "start_wrong_answer",
        "start_wrong_version",
    ],
)
async def test_a_server_that_does_not_start_is_an_error(mode: str) -> None:
    """Within the time that its configuration allows."""
    with pytest.raises(ProviderError, match="the MCP server `hostile`"):
        await probe(hostile(mode, start_ms=3_000, memory_mb=128))


async def test_nothing_of_a_server_survives(tmp_path: Path) -> None:
    """Not even a process that left its session and its parent."""
    note = tmp_path / "orphan"
    configured = hostile("leaves_an_orphan", str(note))
    async with open_servers() as servers:
        await servers.call(context(), pinned(configured), configured, "work", {}, None)
        orphan = int(note.read_text())
        assert Path(f"/proc/{orphan}").exists()
    assert not Path(f"/proc/{orphan}").exists()


async def test_a_changed_list_is_refused_before_the_next_call() -> None:
    """A server that changes its tools after they were compared gets no further call."""
    async with open_servers() as servers:
        assert await call(servers, "call_changes_tools") == "done"
        with pytest.raises(ProviderError, match="`work` is changed; see `caps mcp check hostile`"):
            while True:  # the notification may come after the answer
                await call(servers, "call_changes_tools")


async def test_a_failed_server_is_started_again_after_a_pause() -> None:
    """And not before."""
    async with open_servers() as servers:
        with pytest.raises(ProviderError, match="closed its output"):
            await call(servers, "call_exits")
        with pytest.raises(ProviderError, match="is started again in"):
            while True:
                await call(servers, "call_exits")


async def test_callers_share_a_server_by_agent_and_principal() -> None:
    """A process of one principal is never used for another, unless the operator says so."""
    configured, shared = hostile("honest"), hostile("honest", key="shared", share="agent")
    async with open_servers() as servers:
        for each in (configured, shared):
            for principal in ("alice", "alice", "bob"):
                await servers.call(context(principal), pinned(each), each, "work", {}, None)
        pids = [slot.connection.processes.server_pid for slot in servers._slots.values()]  # type: ignore[union-attr]
    assert len(set(pids)) == 3


async def test_the_pin_is_compared_before_the_first_call() -> None:
    """One changed word in a description is drift."""
    configured = hostile("honest")
    accepted = HOSTILE_TOOL.__class__(
        name="work", description="Do other work.", input_schema=HOSTILE_TOOL.input_schema
    )
    async with open_servers() as servers:
        with pytest.raises(ProviderError, match="have changed since they were accepted"):
            await servers.call(
                context(), pinned(configured, accepted), configured, "work", {}, None
            )
