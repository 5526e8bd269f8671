"""Code mode: the model has one tool, writes code, and calls its capabilities there.

The code of one run is one session of the runtime: names are kept from call to call, and the worker
is started by the first call and killed when the run ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

import anyio

from caps.agents.runner.engine import Tool, ToolAnswer
from caps.agents.runner.tool_box import RunScope, ToolBox
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.session import Session
from caps.protocol.errors import SessionEndedError
from caps.protocol.messages import MAX_SOURCE_BYTES

EXECUTE_CODE: Final = "execute_code"

_DESCRIPTION: Final = (
    "Run Python in a sandbox and return its output, the value of its last expression, and errors. "
    "Top-level `await` works, and names are kept from call to call."
)
_SCHEMA: Final = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "the Python to run"}},
    "required": ["code"],
    "additionalProperties": False,
}
_PROMPT: Final = """\
To act, call `execute_code` with Python. It runs in a sandbox: top-level `await` works, what is
printed and the value of the last expression come back to you, and names are kept from call to call.
There are no files, processes or network but what `caps` offers, which is exactly this:

```python
{stubs}
```

A call that is refused raises an error that says why. Do not repeat it; do without, or say so."""


def code_prompt(system_prompt: str, stubs: str) -> str:
    """The agent's prompt, and how to write code with these stubs."""
    how = _PROMPT.format(stubs=stubs.strip())
    return f"{system_prompt}\n\n{how}" if system_prompt else how


class CodeTool(ToolBox):
    """The box with `execute_code`."""

    def __init__(self, scope: RunScope) -> None:
        super().__init__(scope)
        self._session: Session | None = None
        self._turn = anyio.Lock()  # a model may call it twice at the same time

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (Tool(name=EXECUTE_CODE, description=_DESCRIPTION, schema=_SCHEMA, sequential=True),)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._close()

    async def _use(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:  # noqa: ARG002
        code = arguments.get("code")
        if not isinstance(code, str) or len(arguments) != 1:
            return ToolAnswer(text="error:\npass the Python as `code`, a string", ok=False)
        if len(code) > MAX_SOURCE_BYTES or len(code.encode("utf-8", "replace")) > MAX_SOURCE_BYTES:
            text = f"error:\nthe code is longer than {MAX_SOURCE_BYTES} bytes"
            return ToolAnswer(text=text, ok=False)
        async with self._turn:
            result = await self._run(code)
        return ToolAnswer(text=result.for_model(self._scope.result_characters), ok=result.ok)

    async def _run(self, code: str) -> ExecutionResult:
        session = await self._opened()
        try:
            return await session.run(code)
        except SessionEndedError as ended:
            await self._close()
            result = await (await self._opened()).run(code)
            return replace(result, note=f"the names of all earlier calls are lost: {ended.message}")

    async def _opened(self) -> Session:
        if self._session is None:
            scope = self._scope
            session = scope.runtime.session(
                principal=scope.principal,
                agent=scope.agent,
                session=scope.session,
                policy=list(scope.policies),
            )
            self._session = await session.__aenter__()
        return self._session

    async def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
