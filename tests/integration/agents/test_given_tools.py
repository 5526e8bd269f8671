"""An agent gets exactly the tools of its object: by call, in code and in the prompt."""

from __future__ import annotations

from typing import Any

import pytest

from caps import AgentInvalidError, MemoryAuditLog, Runtime
from caps.agents.definition import new_agent
from caps.agents.runner.model import CallMode, RunContext, RunResult
from caps.agents.runner.runner import AgentRunner
from caps.agents.runner.scripted_engine import ScriptedCall, ScriptedEngine, Turn
from support.agent_setup import OPERATOR, AgentSetup

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The runner itself needs no particular event loop; Pydantic AI does."""
    found: str = request.param
    return found


ONLY_TRANSCRIBE = {"audio": {"tools": ["transcribe"]}}


async def run(
    capabilities: Any, *turns: Turn, mode: CallMode = CallMode.TOOLS, policy: Any = None
) -> tuple[RunResult, ScriptedEngine]:
    engine = ScriptedEngine([*turns, Turn(answer="done")])
    registry = AgentSetup().registry
    async with Runtime(OPERATOR, registry=registry, audit=MemoryAuditLog()) as runtime:
        agent = new_agent("a", capabilities, system_prompt="Be brief.", policy=policy)
        result = await AgentRunner(runtime, engine).run(agent, "go", RunContext(mode=mode))
    return result, engine


async def test_by_call() -> None:
    """The tool works; the other tool of the capability does not exist."""
    calls = (
        ScriptedCall(name="transcribe", arguments={"path": "a.wav"}),
        ScriptedCall(name="synthesize", arguments={"text": "a"}),
        ScriptedCall(name="transcribes", arguments={}),
        ScriptedCall(name="salary", arguments={"name": "ada"}),
        ScriptedCall(name="transcribe", arguments="a.wav"),
    )
    _, engine = await run(ONLY_TRANSCRIBE, Turn(calls=calls))
    (request,) = engine.requests
    assert [tool.name for tool in request.tools] == ["transcribe"]
    assert request.system_prompt == "You can work with speech.\n\nBe brief."
    assert [each.text for each in engine.answers] == [
        "text of a.wav",
        "error:\nthere is no tool `synthesize`",
        "error:\nthere is no tool `transcribes`; did you mean `transcribe`?",
        "error:\nthere is no tool `salary`",
        "error:\nthe arguments must be a JSON object",
    ]


async def test_in_code_and_in_its_prompt() -> None:
    """The stubs have that function and no other, and so has the namespace."""
    code = "[name for name in dir(caps.audio) if not name.startswith('_')], hasattr(caps, 'hr')"
    _, engine = await run(
        ONLY_TRANSCRIBE,
        Turn(code="await caps.audio.transcribe(path='a.wav')"),
        Turn(code=code),
        Turn(code="await caps.audio.synthesize(text='a')"),
        mode=CallMode.CODE,
    )
    (request,) = engine.requests
    assert [tool.name for tool in request.tools] == ["execute_code"]
    assert "async def transcribe(" in request.system_prompt
    assert not any(word in request.system_prompt for word in ("synthesize", "salary", "fire"))
    first, second, third = (each.text for each in engine.answers)
    assert first == "result:\n'text of a.wav'"
    assert second == "result:\n(['transcribe'], False)"
    assert "`audio.synthesize` is not granted" in third


async def test_what_the_operator_or_the_agents_policy_withholds() -> None:
    """A tool that a policy does not allow is not offered, and the result names it."""
    result, engine = await run({"hr": {}})
    assert [tool.name for tool in engine.requests[0].tools] == ["salary"]
    assert result.withheld == ("fire",)
    result, engine = await run({"audio": {}}, policy={"allow": ["audio.synthesize"]})
    assert [tool.name for tool in engine.requests[0].tools] == ["synthesize"]
    assert result.withheld == ("transcribe",)


@pytest.mark.parametrize(
    ("capabilities", "message"),
    [
        ({"audoi": {}}, "there is no capability `audoi`.*did you mean `audio`"),
        ({"audio": {"tools": ["transcrib"]}}, "has no tool `transcrib`.*did you mean `transcribe`"),
        ({"audio": {"tools": ["*"]}}, "there are no wildcards"),
        ({"audio": {"tools": "transcribe"}}, "should be an array of tools"),
        ({"audio": {"tool": []}}, "`audio`.*did you mean `tools`"),
        ({"audio": []}, "should be an object"),
        ({"notify_user": {}}, "the mode of an execution adds it"),
        (["audio", "audio"], "is listed twice"),
        ("audio", "should be an object or an array"),
    ],
)
async def test_an_agent_that_does_not_fit(capabilities: Any, message: str) -> None:
    """The run does not begin, and the error names the place and the nearest name."""
    with pytest.raises(AgentInvalidError, match=message):
        await run(capabilities)
