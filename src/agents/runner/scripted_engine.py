"""An engine without a model: it follows a script. For tests, and to try an agent without a key.

A script is a list of turns. A turn makes calls or gives the answer, which ends the run; the next
run goes on with the next turn. As JSON:

    [{"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
     {"code": "await caps.time.now()"},
     {"answer": "it says: {last}"}]

`{last}` in an answer is the text of the last tool answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from caps.agents.runner.code_tool import EXECUTE_CODE
from caps.agents.runner.engine import (
    CallTool,
    Engine,
    EngineOutcome,
    EngineRequest,
    StopReason,
    ToolAnswer,
    ToolCall,
)
from caps.agents.runner.errors import EngineError
from caps.protocol.errors import ConfigurationError


class ScriptedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool call; the engine numbers it."""

    name: str
    arguments: Any = msgspec.field(default_factory=dict)


class Turn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the model says at one time: exactly one of these."""

    calls: tuple[ScriptedCall, ...] = ()
    code: str | None = None
    """The same as a call of `execute_code` with it."""
    answer: str | None = None

    def __post_init__(self) -> None:
        if sum((bool(self.calls), self.code is not None, self.answer is not None)) != 1:
            raise ValueError("a turn has exactly one of `calls`, `code` and `answer`")


_Script = Annotated[list[Turn], msgspec.Meta(max_length=10_000)]


def read_script(data: bytes) -> list[Turn]:
    """The turns of a script as JSON. Raises ConfigurationError."""
    try:
        return msgspec.json.decode(data, type=_Script)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"the script cannot be read: {error}") from None


class ScriptedEngine(Engine):
    """Follows its turns, one after another, over all of its runs."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._turns = iter(tuple(turns))
        self.requests: list[EngineRequest] = []
        """What each run was given."""
        self.answers: list[ToolAnswer] = []
        """What each call was answered."""

    async def run(self, request: EngineRequest, call_tool: CallTool) -> EngineOutcome:
        self.requests.append(request)
        for number in range(1, request.limits.max_turns + 1):
            turn = next(self._turns, None)
            if turn is None:
                raise EngineError("the script has no more turns")
            if turn.answer is not None:
                last = self.answers[-1].text if self.answers else ""
                answer = turn.answer.replace("{last}", last)
                return EngineOutcome(answer=answer, turns=number)
            for call in _calls(turn, len(self.answers)):
                self.answers.append(await call_tool(call))
        return EngineOutcome(answer="", stop=StopReason.TURNS, turns=request.limits.max_turns)


def _calls(turn: Turn, before: int) -> list[ToolCall]:
    calls = turn.calls
    if turn.code is not None:
        calls = (ScriptedCall(name=EXECUTE_CODE, arguments={"code": turn.code}),)
    return [
        ToolCall(id=f"call-{number}", name=call.name, arguments=call.arguments)
        for number, call in enumerate(calls, before + 1)
    ]
