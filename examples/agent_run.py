"""An agent with a thread: it calls a tool, then writes code, and remembers what was said.

The engine follows a script; `PydanticAiEngine("openai:gpt-5.2")` asks a model. Needs
`caps-runtime[store]`.

    python examples/agent_run.py
"""

import asyncio
import tempfile

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.agents.definition import new_agent
from caps.agents.runner.model import CallMode, RunContext
from caps.agents.runner.runner import AgentRunner
from caps.agents.runner.scripted_engine import ScriptedCall, ScriptedEngine, Turn
from caps.store import open_store

TURNS = [
    Turn(calls=(ScriptedCall(name="add", arguments={"a": 20, "b": 22}),)),
    Turn(answer="here: {last}"),
    Turn(code="(await caps.math.multiply(a=42, b=2)).result"),
    Turn(answer="and twice that, {last}"),
]


async def main() -> None:
    agent = new_agent("sums", {"test_math": {"tools": ["add", "multiply"]}})
    policy = {"id": "operator", "allow": ["math.*"]}
    with tempfile.TemporaryDirectory() as place:
        async with (
            open_store(f"sqlite:///{place}/caps.db") as store,
            Runtime(policy, registry=builtin_registry(), audit=MemoryAuditLog()) as runtime,
        ):
            runner = AgentRunner(runtime, ScriptedEngine(TURNS), store=store)
            first = await runner.run(agent, "20 and 22?", RunContext(principal="ada"))
            print(first.answer)
            context = RunContext(principal="ada", thread=first.thread_id, mode=CallMode.CODE)
            print((await runner.run(agent, "and twice?", context)).answer)


if __name__ == "__main__":
    asyncio.run(main())
