"""What a run adds to its thread, as it happens: the message, calls with their answers, the answer.

A call is recorded with its answer, so a thread never has one without the other.
"""

from __future__ import annotations

import json

from caps.agents.runner.engine import CallTool, ToolAnswer, ToolCall
from caps.protocol.errors import CapsError
from caps.store.repositories.threads import NewMessage, Role


class ToolCallLimitError(CapsError):
    """The run made as many tool calls as it may; an engine lets it pass."""

    code = "tool_call_limit"


class Recorder:
    """The messages of one run."""

    def __init__(self, message: str, max_tool_calls: int) -> None:
        self.messages = [NewMessage(role=Role.USER, content=message)]
        self.tool_calls = 0
        self._max_tool_calls = max_tool_calls

    def recording(self, call_tool: CallTool) -> CallTool:
        """`call_tool`, counted and recorded. Raises ToolCallLimitError."""

        async def recorded(call: ToolCall) -> ToolAnswer:
            if self.tool_calls >= self._max_tool_calls:
                raise ToolCallLimitError(f"the run has made its {self.tool_calls} tool calls")
            self.tool_calls += 1
            answer = await call_tool(call)
            self._add(call, answer)
            return answer

        return recorded

    def answered(self, answer: str) -> None:
        """The model's answer; none is not recorded."""
        if answer:
            self.messages.append(NewMessage(role=Role.ASSISTANT, content=answer))

    def _add(self, call: ToolCall, answer: ToolAnswer) -> None:
        arguments = json.dumps(call.arguments, default=repr)
        named = {"tool": str(call.name), "call_id": str(call.id)}
        self.messages += [
            NewMessage(role=Role.TOOL_CALL, content=arguments, **named),
            NewMessage(role=Role.TOOL_RESULT, content=answer.text, **named),
        ]
