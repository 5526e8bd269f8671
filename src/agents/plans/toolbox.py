"""The tools that steps can name: functions, tools of capabilities, and agent types."""

from __future__ import annotations

from caps.agents.plans.plan import PlanStep
from caps.agents.plans.problems import PlanCode
from caps.agents.plans.schemas import ANYTHING, Schema
from caps.agents.tool_cards.card import side_effects_of
from caps.capabilities.registry import CapabilityRegistry
from caps.protocol.text import did_you_mean, printable
from caps.security.policies.names import MAX_QUOTED

_MAX_LISTED = 8


class UnknownToolError(LookupError):
    """A step names no tool, or more than one; `key` is where it says so."""

    def __init__(self, code: PlanCode, message: str, key: str) -> None:
        super().__init__(message)
        self.code = code
        self.key = key


class Toolbox:
    """What the registry has, by all the names that a step may use.

    The agent type of a function is that of its tool card, or without one its domain.
    """

    def __init__(self, registry: CapabilityRegistry) -> None:
        self._functions = registry.capabilities
        self._cards = registry.cards
        self._tools = {name: name for name in self._functions}
        for capability in registry.known_capabilities():
            for tool in capability.tools:
                if tool.function is not None and tool.function in self._functions:
                    self._tools.setdefault(f"{capability.key}.{tool.key}", tool.function)
        self._by_agent_type: dict[str, list[str]] = {}
        for name, entry in sorted(self._functions.items()):
            card = self._cards.get(name)
            agent_type = entry.spec.domain if card is None else card.agent_type
            self._by_agent_type.setdefault(agent_type, []).append(name)

    def function_of(self, step: PlanStep) -> str:
        """The function behind a step. UnknownToolError if there is none, or more than one."""
        if step.agent_type is not None:
            return self._of_agent_type(step.agent_type)
        assert step.tool is not None  # the form of a plan says so
        found = self._tools.get(step.tool)
        if found is None:
            shown, hint = printable(step.tool, MAX_QUOTED), did_you_mean(step.tool, self._tools)
            message = f"no tool `{shown}` is registered{hint}"
            raise UnknownToolError(PlanCode.TOOL_UNKNOWN, message, "tool")
        return found

    def _of_agent_type(self, agent_type: str) -> str:
        found = self._by_agent_type.get(agent_type, [])
        shown = printable(agent_type, MAX_QUOTED)
        if not found:
            hint = did_you_mean(agent_type, self._by_agent_type)
            message = f"no tool has the agent type `{shown}`{hint}"
            raise UnknownToolError(PlanCode.AGENT_TYPE_UNKNOWN, message, "agent_type")
        if len(found) > 1:
            names = ", ".join(f"`{name}`" for name in found[:_MAX_LISTED])
            more = ", …" if found[_MAX_LISTED:] else ""
            message = f"`{shown}` has several tools; set `tool` to one of {names}{more}"
            raise UnknownToolError(PlanCode.AGENT_TYPE_AMBIGUOUS, message, "agent_type")
        return found[0]

    def side_effects(self, function: str) -> tuple[str, ...]:
        """By its tool card, or without one by its specification."""
        card = self._cards.get(function)
        return (
            side_effects_of(self._functions[function].spec) if card is None else card.side_effects
        )

    def takes(self, function: str) -> Schema:
        """The schema of its payloads, as the decision checks them."""
        schema = self._functions[function].schema_in.schema
        return Schema(schema, schema)

    def gives(self, function: str) -> Schema:
        """The schema of its output; that of a stream is the list of its items."""
        spec = self._functions[function].spec
        schema = Schema(spec.schema_out, spec.schema_out) if spec.schema_out else ANYTHING
        return Schema({"type": "array", "items": schema}) if spec.streams else schema
