"""One agent with one tool of an external server gets exactly that tool, whoever asks and how.

The server is a real one of the SDK. The same agent is served to MCP clients, runs code, is called
as a function, is shown to people, and is run by an engine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from caps import AgentInvalidError, CapabilityRegistry, MemoryAuditLog, Runtime
from caps.agents.definition import new_agent
from caps.agents.resolution import AgentResolver
from caps.agents.runner.model import CallMode, RunContext
from caps.agents.runner.runner import AgentRunner
from caps.agents.runner.scripted_engine import ScriptedCall, ScriptedEngine, Turn
from caps.capabilities.progress import Progress, progress_to
from caps.mcp.client.config import load_servers
from caps.mcp.client.pins import PinStore
from caps.mcp.client.registering import register_mcp_servers
from caps.security.audit import DecisionMade
from caps.security.audit.files.reader import read_records
from support import audio_mcp_server
from support.mcp_serving import command, environment, policy_file

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]
ONLY_TRANSCRIBE = {"audio": {"tools": ["transcribe"]}}
OPERATOR: dict[str, Any] = {"id": "operator", "allow": ["audio.*"]}
OWN = {"execute_code", "search_capabilities"}
TOKEN = "5f1c-not-for-clients"
MASKED_PARTS = ["part 1 with [secret]", "part 2 with [secret]", "part 3 with [secret]"]
MODES: tuple[ConnectMode, ...] = ("legacy", "auto")
CODE = """
text = (await caps.audio.transcribe(path="a.wav"))["text"]
(text, [name for name in dir(caps.audio) if not name.startswith("_")])
"""


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The operator's directory: a file of servers, whose tools `caps mcp accept` has pinned."""
    state = tmp_path_factory.mktemp("operator")
    config = {
        "command": sys.executable,
        "args": ["-I", str(Path(audio_mcp_server.__file__))],
        "env": {"AUDIO_TOKEN": {"secret": "audio"}},
        "start_ms": 60_000,
        "labels": [],
        "system_prompt": "You can work with speech.",
    }
    (state / "servers.json").write_text(json.dumps({"mcpServers": {"audio": config}}))
    accept = [sys.executable, "-c", "from caps.cli.main import main; main()"]
    subprocess.run(
        [*accept, "mcp", "accept", "audio"],
        env=operators_environment(state),
        check=True,
        capture_output=True,
        timeout=120,
    )
    return state


def operators_environment(state: Path) -> dict[str, str]:
    return environment(
        state,
        CAPS_MCP_SERVERS=str(state / "servers.json"),
        CAPS_MCP_PINS=str(state / "pins"),
        CAPS_SECRET_AUDIO=TOKEN,
    )


@pytest.fixture
def registry(operator: Path, monkeypatch: pytest.MonkeyPatch) -> CapabilityRegistry:
    monkeypatch.setenv("CAPS_SECRET_AUDIO", TOKEN)
    made = CapabilityRegistry()
    servers = load_servers(operator / "servers.json")
    register_mcp_servers(made, servers, PinStore(operator / "pins"))
    return made


@asynccontextmanager
async def connected(
    operator: Path, state: Path, capabilities: Any, mode: ConnectMode = "auto"
) -> AsyncIterator[Client]:
    """A client of `caps mcp serve --agent`."""
    agent = state / "agent.json"
    agent.write_text(json.dumps({"name": "clerk", "capabilities": capabilities}))
    policy = policy_file(state, **OPERATOR)
    options = ("--agent", str(agent), "--policy", policy, "--audit", str(state / "audit"))
    program, *arguments = command(*options)
    parameters = StdioServerParameters(
        command=program, args=arguments, env=operators_environment(operator), cwd=TESTS
    )
    with (state / "stderr").open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=mode) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
async def test_in_mcp(operator: Path, tmp_path: Path, mode: ConnectMode) -> None:
    """The tool with its schema, the stub of it for code, and nothing of the other tool."""
    async with connected(operator, tmp_path, ONLY_TRANSCRIBE, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"transcribe"} | OWN
        assert tools["transcribe"].input_schema["required"] == ["path"]
        about_code = tools["execute_code"].description or ""
        assert "async def transcribe(" in about_code
        assert "synthesize" not in about_code
        called = await client.call_tool("transcribe", {"path": "a.wav"})
        assert called.structured_content is not None
        assert called.structured_content["text"] == "text of a.wav"
        ran = await client.call_tool("execute_code", {"code": CODE})
        assert ran.structured_content is not None
        assert ran.structured_content["value"] == ["text of a.wav", ["transcribe"]]
        with pytest.raises(MCPError, match=r"no tool `transcrib`; did you mean `transcribe`\?"):
            await client.call_tool("transcrib", {"path": "a.wav"})
        assert (await client.call_tool("audio_synthesize", {"text": "a"})).is_error
        found = await client.call_tool("search_capabilities", {"query": "speech"})
        assert "audio.transcribe" in found.model_dump_json()
        assert "synthesize" not in found.model_dump_json()
    records = list(read_records(tmp_path / "audit"))
    decided = [
        (each.event.capability, each.event.decision)
        for each in records
        if isinstance(each.event, DecisionMade)
    ]
    assert decided == [
        ("audio.transcribe", "allow"),
        ("audio.transcribe", "allow"),
        ("audio.synthesize", "deny"),
    ]


async def test_in_code_by_call_and_for_people(registry: CapabilityRegistry) -> None:
    """What the agent is shown as is what it can do."""
    async with Runtime(OPERATOR, registry=registry, audit=MemoryAuditLog()) as runtime:
        agent, resolver = new_agent("a", ONLY_TRANSCRIBE), AgentResolver(runtime)
        shown = await resolver.effective(agent)
        assert [(tool.key, tool.function) for tool in shown.tools] == [
            ("transcribe", "audio.transcribe")
        ]
        assert shown.system_prompt == "You can work with speech."
        assert "async def transcribe(" in shown.stubs
        assert "synthesize" not in shown.stubs
        policies = list((await resolver.ready(agent)).policies)
        ran = await runtime.run(CODE, policy=policies)
        assert ran.value == ("text of a.wav", ["transcribe"])
        called = await runtime.call("audio.transcribe", {"path": "a.wav"}, policy=policies)
        assert called.unwrap()["text"] == "text of a.wav"
        refused = await runtime.call("audio.synthesize", {"text": "a"}, policy=policies)
        assert refused.error is not None
        assert refused.error.code == "policy_denied"


@pytest.mark.parametrize("mode", CallMode)
async def test_for_an_engine(registry: CapabilityRegistry, mode: CallMode) -> None:
    """Plain tools and code mode; the engine never gets the server itself."""
    turns = [
        Turn(calls=(ScriptedCall(name="transcribe", arguments={"path": "a.wav"}),)),
        Turn(calls=(ScriptedCall(name="synthesize", arguments={"text": "a"}),)),
    ]
    if mode is CallMode.CODE:
        turns = [Turn(code=CODE), Turn(code="await caps.audio.synthesize(text='a')")]
    engine = ScriptedEngine([*turns, Turn(answer="done")])
    async with Runtime(OPERATOR, registry=registry, audit=MemoryAuditLog()) as runtime:
        agent = new_agent("a", ONLY_TRANSCRIBE)
        result = await AgentRunner(runtime, engine).run(agent, "go", RunContext(mode=mode))
    assert result.answer == "done"
    (request,) = engine.requests
    offered = ["execute_code"] if mode is CallMode.CODE else ["transcribe"]
    assert [tool.name for tool in request.tools] == offered
    assert request.mcp_servers == {}
    assert "You can work with speech." in request.system_prompt
    assert "synthesize" not in request.system_prompt
    worked, refused = engine.answers
    assert worked.ok
    assert "text of a.wav" in worked.text
    assert not refused.ok


class TestMistakes:
    """Each names the place and the nearest name, wherever the agent is used."""

    MISTAKES: tuple[tuple[dict[str, Any], str], ...] = (
        (
            {"audoi": {}},
            "there is no capability `audoi` at `capabilities.audoi`; did you mean `audio`?",
        ),
        (
            {"audio": {"tools": ["transcribe", "synthesise"]}},
            "capability `audio`: has no tool `synthesise` at `capabilities.audio.tools[1]`; did "
            "you mean `synthesize`?",
        ),
        (
            {"audio": {"tool": ["transcribe"]}},
            "capability `audio`: has no setting `tool` at `capabilities.audio.tool`; did you mean "
            "`tools`?",
        ),
    )

    @pytest.mark.parametrize(("capabilities", "message"), MISTAKES)
    async def test_by_the_registry_and_by_the_runner(
        self, registry: CapabilityRegistry, capabilities: Any, message: str
    ) -> None:
        with pytest.raises(AgentInvalidError) as failure:
            registry.resolve(capabilities)
        assert failure.value.message == message
        engine = ScriptedEngine([Turn(answer="never")])
        async with Runtime(OPERATOR, registry=registry, audit=MemoryAuditLog()) as runtime:
            with pytest.raises(AgentInvalidError) as failure:
                await AgentRunner(runtime, engine).run(new_agent("a", capabilities), "go")
        assert failure.value.message == message
        assert engine.requests == []

    @pytest.mark.parametrize(("capabilities", "message"), MISTAKES)
    async def test_by_the_command(
        self, operator: Path, tmp_path: Path, capabilities: Any, message: str
    ) -> None:
        """`caps mcp serve` does not start."""
        agent = tmp_path / "agent.json"
        agent.write_text(json.dumps({"name": "clerk", "capabilities": capabilities}))
        options = ("--agent", str(agent), "--policy", policy_file(tmp_path, **OPERATOR))
        done = await anyio.run_process(
            command(*options, "--audit", str(tmp_path / "audit")),
            env=operators_environment(operator),
            cwd=TESTS,
            check=False,
        )
        assert done.returncode != 0
        assert message in done.stderr.decode()
        assert done.stdout == b""


class Told:
    """What an MCP client is told of a request."""

    def __init__(self) -> None:
        self.reports: list[tuple[float, float | None, str | None]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.reports.append((progress, total, message))


class TestProgress:
    """From the external server, through the broker, to whoever waits; without its secrets."""

    async def test_to_a_program(self, registry: CapabilityRegistry) -> None:
        told: list[Progress] = []
        async with Runtime(OPERATOR, registry=registry, audit=MemoryAuditLog()) as runtime:
            with progress_to(told.append):
                (await runtime.call("audio.transcribe", {"path": "a.wav"})).unwrap()
                (await runtime.run(CODE)).unwrap()
        once = [Progress(done, 3, MASKED_PARTS[done - 1], "audio.transcribe") for done in (1, 2, 3)]
        assert told == once * 2

    async def test_a_listener_that_fails_harms_nothing(
        self, registry: CapabilityRegistry, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(_: Progress) -> None:
            raise RuntimeError("nobody is there")

        async with Runtime(OPERATOR, registry=registry, audit=MemoryAuditLog()) as runtime:
            with progress_to(fail):
                result = await runtime.call("audio.transcribe", {"path": "a.wav"})
        assert result.ok
        assert "whoever listens to the progress of `audio.transcribe` failed" in caplog.text

    @pytest.mark.parametrize("mode", MODES)
    async def test_to_an_mcp_client(
        self, operator: Path, tmp_path: Path, mode: ConnectMode
    ) -> None:
        """Through both ends; in code mode among the other steps of the run."""
        called, ran = Told(), Told()
        async with connected(operator, tmp_path, ONLY_TRANSCRIBE, mode) as client:
            arguments = {"path": "a.wav"}
            await client.call_tool("transcribe", arguments, progress_callback=called)
            await client.call_tool("execute_code", {"code": CODE}, progress_callback=ran)
        assert called.reports == [(done, 3, MASKED_PARTS[done - 1]) for done in (1, 2, 3)]
        assert ran.reports[:1] == [(1.0, None, "audio.transcribe: allow")]
        of_tool = [f"audio.transcribe: {n} of 3, {MASKED_PARTS[n - 1]}" for n in (1, 2, 3)]
        assert [message for _, _, message in ran.reports if message in of_tool] == of_tool
        assert [done for done, _, _ in ran.reports] == sorted({done for done, _, _ in ran.reports})
