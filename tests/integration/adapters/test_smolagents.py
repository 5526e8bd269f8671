"""Caps as the executor of smolagents' CodeAgent, with a scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

import pytest
from smolagents import CodeAgent, LogLevel, Model, tool
from smolagents.local_python_executor import InterpreterError
from smolagents.models import ChatMessage, MessageRole

from caps.adapters.smolagents_executor import CapsExecutor
from support.adapter_setup import AdapterSetup


class Script(Model):  # type: ignore[misc]
    """Says its lines; each is code."""

    def __init__(self, *codes: str) -> None:
        super().__init__(model_id="script")
        self.codes = list(codes)
        self.seen: list[str] = []

    def generate(self, messages: Any, **_: Any) -> ChatMessage:
        self.seen.append(str(messages[-1]))
        code = self.codes.pop(0)
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{code}\n</code>")


@tool  # type: ignore[untyped-decorator]
def price(sku: str) -> int:
    """What it costs.

    Args:
        sku: The item.
    """
    return 10 * len(sku)


@pytest.fixture
def setup() -> Iterator[AdapterSetup]:
    made = AdapterSetup()
    with made.runtime:
        yield made


def test_an_agent_runs_its_code_in_the_sandbox(setup: AdapterSetup) -> None:
    """Tools without `await`, variables from step to step, an error that it repairs, an answer."""
    script = Script(
        "first = price(sku='abc')\nprint('first', first)",
        "import os\nos.system('id')",
        "second = asyncio_free = price('a') + first",
        "final_answer({'sum': second, 'given': given})",
    )
    executor = CapsExecutor(setup.runtime, setup.host, principal="ada")
    agent = CodeAgent(
        tools=[price], model=script, executor=executor, verbosity_level=LogLevel.OFF, max_steps=6
    )
    with agent:
        answer = agent.run("what is the sum?", additional_args={"given": [1, 2]})
    assert answer == {"sum": 40, "given": [1, 2]}
    assert "first 30" in script.seen[1]
    assert "error" in script.seen[2]
    assert setup.decisions() == [("ada", "host.call", "allow")] * 2


def test_what_is_not_granted_is_an_error_of_the_code(setup: AdapterSetup) -> None:
    """The executor raises what smolagents shows the model; output until then is kept."""
    with CapsExecutor(setup.runtime, setup.host) as executor:
        executor.send_tools({})
        with pytest.raises(InterpreterError, match=r"`stock\.sell` is not granted"):
            executor("print('before')\nawait caps.stock.sell(sku='a')")
        assert executor.state["_print_outputs"] == "before\n"
        assert executor("await caps.stock.count(sku='ab')").output == 2
        with pytest.raises(InterpreterError, match="NameError"):
            executor("price('a')")


def test_the_entry_point_makes_an_executor() -> None:
    """As a version of smolagents that looks for executors calls it."""
    (found,) = entry_points(group="smolagents.executors", name="caps")
    executor = found.load()([], None, policy={"allow": ["host.call"]})
    try:
        executor.send_tools({"price": price})
        assert executor("price('ab')").output == 20
    finally:
        executor.cleanup()
