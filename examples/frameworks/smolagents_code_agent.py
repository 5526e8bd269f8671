"""smolagents' CodeAgent with Caps as its executor. Needs `caps-runtime[smolagents]`.

The model is a script; use any model of smolagents.

    python examples/frameworks/smolagents_code_agent.py
"""

from smolagents import CodeAgent, LogLevel, Model, tool
from smolagents.models import ChatMessage, MessageRole

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.adapters.host_functions import HostFunctions
from caps.adapters.smolagents_executor import CapsExecutor


class Script(Model):
    """Says its lines; each is code."""

    def __init__(self, *codes: str) -> None:
        super().__init__(model_id="script")
        self.codes = list(codes)

    def generate(self, _messages, **_options) -> ChatMessage:
        content = f"<code>\n{self.codes.pop(0)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=content)


@tool
def price(sku: str) -> int:
    """What it costs, in cents.

    Args:
        sku: The item.
    """
    return 100 * len(sku)


def main() -> None:
    registry = builtin_registry()
    host = HostFunctions(registry)
    policy = {"id": "shop", "allow": ["host.call"]}
    model = Script("total = price('tea') + price('milk')", "final_answer(total)")
    with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        executor = CapsExecutor(runtime, host, principal="ada")
        with CodeAgent([price], model, executor=executor, verbosity_level=LogLevel.OFF) as agent:
            print(agent.run("what do tea and milk cost?"))


if __name__ == "__main__":
    main()
