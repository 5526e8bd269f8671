"""External servers as capabilities of agents: exactly their tools, under policy and audit."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from caps import AgentInvalidError, CapabilityRegistry, MemoryAuditLog, Runtime, builtin_registry
from caps.capabilities.progress import Progress, progress_to
from caps.mcp.client.config import McpServer
from caps.mcp.client.pins import PinStore, make_pin
from caps.mcp.client.probing import probe
from caps.mcp.client.registering import register_mcp_servers
from caps.security.audit import DecisionMade
from support.mcp_servers import hostile, pinned, server
from support.processes import children

pytestmark = pytest.mark.anyio

_TIME = Path(sys.prefix) / "bin" / "mcp-server-time"
_FLOWS = [{"id": "closed", "after": ["untrusted"], "deny": ["egress"]}]


async def registry_of(tmp_path: Path, *servers: McpServer) -> CapabilityRegistry:
    """The built-in registry with these servers, whose tools are accepted as they are."""
    registry, pins = builtin_registry(), PinStore(tmp_path / "pins")
    for each in servers:
        offer = await probe(each)
        pins.write(make_pin(each, offer.tools, offer.name, offer.version))
    register_mcp_servers(registry, servers, pins)
    return registry


def clock() -> McpServer:
    return server("world-clock", command=str(_TIME), start_ms=60_000)


async def test_an_agent_has_exactly_the_tools_that_it_lists(tmp_path: Path) -> None:
    """In code, by call, in its tools and in the prompt; everything is in the audit log."""
    registry, audit = await registry_of(tmp_path, clock()), MemoryAuditLog()
    resolved = registry.resolve({"world-clock": {"tools": ["get_current_time"]}})
    assert [tool.key for tool in resolved.tools] == ["get_current_time"]
    assert [tool.function for tool in resolved.tools] == ["world_clock.get_current_time"]
    assert resolved.mcp_servers == {}
    policy = resolved.policy.model_dump(mode="json", exclude_unset=True)
    async with Runtime(policy, registry=registry, audit=audit) as runtime:
        stubs = runtime.stubs()
        assert "get_current_time" in stubs
        assert "convert_time" not in stubs
        called = await runtime.call(
            "world_clock.get_current_time", {"timezone": "Asia/Tokyo"}, agent="a"
        )
        assert "+09:00" in called.unwrap()["text"]
        arguments = {"source_timezone": "UTC", "time": "10:00", "target_timezone": "UTC"}
        refused = await runtime.call("world_clock.convert_time", arguments, agent="a")
        assert refused.error is not None
        assert refused.error.code == "policy_denied"
        ran = await runtime.run(
            """
found = await caps.world_clock.get_current_time(timezone="Asia/Tokyo")
("+09:00" in found["text"], hasattr(caps.world_clock, "convert_time"))
""",
            agent="a",
        )
        assert ran.value == (True, False)
        # One process for all of the agent's calls.
        assert len([pid for pid in children(_own()) if "keeper" in _command(pid)]) == 1
    assert not [pid for pid in children(_own()) if "keeper" in _command(pid)]
    decided = [
        (each.event.capability, each.event.decision)
        for each in audit.records
        if isinstance(each.event, DecisionMade)
    ]
    assert decided == [
        ("world_clock.get_current_time", "allow"),
        ("world_clock.convert_time", "deny"),
        ("world_clock.get_current_time", "allow"),
    ]


def _own() -> int:
    return os.getpid()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


async def test_what_a_server_answers_is_untrusted_and_what_it_is_given_leaves(
    tmp_path: Path,
) -> None:
    """So a flow rule stops the second call of an execution; the configuration can say otherwise."""
    open_, closed = hostile("honest", key="open", labels=[], egress=False), hostile("honest")
    registry = await registry_of(tmp_path, open_, closed)
    policy = {"id": "p", "allow": ["open.*", "hostile.*"], "flows": _FLOWS}
    code = "[await caps.{0}.work(text='x') for _ in range(2)][1]['text']"
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        assert (await runtime.run(code.format("open"))).value == "done"
        refused = await runtime.run(code.format("hostile"))
        assert refused.error is not None
        assert "closed" in refused.error.message


async def test_progress_reaches_whoever_called(tmp_path: Path) -> None:
    """A server's progress passes through, and is cut."""
    registry = await registry_of(tmp_path, hostile("lies"))
    policy = {"id": "p", "allow": ["hostile.*"]}
    told: list[Progress] = []
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        with progress_to(told.append):
            (await runtime.call("hostile.work", {"text": "floods_progress"})).unwrap()
    assert told
    assert {each.capability for each in told} == {"hostile.work"}
    assert max(len(each.message or "") for each in told) == 1000
    assert len(told) < 2000


async def test_a_call_in_flight_ends_with_its_deadline(tmp_path: Path) -> None:
    """A server that hangs costs its caller the time that the configuration allows."""
    registry = await registry_of(tmp_path, hostile("call_hangs", timeout_ms=3_000))
    policy = {"id": "p", "allow": ["hostile.*"]}
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        with anyio.fail_after(60):
            result = await runtime.call("hostile.work", {})
    assert result.error is not None
    assert result.error.code == "capability_timeout"


class TestMistakes:
    """Each names the place, and the nearest name."""

    @pytest.fixture
    def registry(self, tmp_path: Path) -> CapabilityRegistry:
        known, new = hostile("honest", key="browser"), hostile("honest", key="mail")
        changed = hostile("other", key="chat")
        pins, registry = PinStore(tmp_path / "pins"), CapabilityRegistry()
        pins.write(pinned(known))
        pins.write(pinned(hostile("honest", key="chat")))
        register_mcp_servers(registry, [known, new, changed], pins)
        return registry

    @pytest.mark.parametrize(
        ("capabilities", "message"),
        [
            (
                {"browser": {"tools": ["wrok"]}},
                "capability `browser`: has no tool `wrok` at `capabilities.browser.tools[0]`; did "
                "you mean `work`?",
            ),
            (
                {"browsr": {}},
                "there is no capability `browsr` at `capabilities.browsr`; did you mean `browser`?",
            ),
            (
                {"shell": {"mcp": {"command": "sh"}}},
                "there is no capability `shell` at `capabilities.shell`; an agent may use only the "
                "MCP servers that the operator configured",
            ),
            (
                {"browser": {"mcp": {"command": "sh", "args": ["-c", "id"]}}},
                "capability `browser`: this is not how the operator configured the MCP server at "
                "`capabilities.browser.mcp`; leave `mcp` out",
            ),
            (
                {"browser": {"mpc": {}}},
                "capability `browser`: has no setting `mpc` at `capabilities.browser.mpc`; did you "
                "mean `mcp`?",
            ),
            (
                {"mail": {}},
                "there is no capability `mail` at `capabilities.mail`: the MCP server has no "
                "accepted tools; run `caps mcp accept mail`",
            ),
            (
                {"chat": {}},
                "there is no capability `chat` at `capabilities.chat`: the MCP server was "
                "configured differently before; run `caps mcp accept chat`",
            ),
        ],
    )
    def test_a_mistake_is_named(
        self, registry: CapabilityRegistry, capabilities: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(AgentInvalidError) as failure:
            registry.resolve(capabilities)
        assert failure.value.message == message

    def test_an_agent_may_repeat_the_command(self, registry: CapabilityRegistry) -> None:
        """If it is exactly that of the operator."""
        config = hostile("honest", key="browser").config
        mcp = {"command": config.command, "args": list(config.args)}
        resolved = registry.resolve({"browser": {"mcp": mcp}})
        assert [tool.key for tool in resolved.tools] == ["work"]

    def test_listing_starts_nothing(self, registry: CapabilityRegistry) -> None:
        """What is known comes from what was accepted."""
        before = children(_own())
        (known,) = registry.known_capabilities()
        assert [tool.key for tool in known.tools] == ["work"]
        assert children(_own()) == before
