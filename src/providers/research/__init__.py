"""(7) The capability `research`: a scratchpad of findings with sections, sources and a summary.

Findings are kept in the store and belong to the session of the caller. Each keeps the labels of
what its writer had read, and reading it gives them.
"""

from __future__ import annotations

from caps.capabilities.catalogue.capability import Capability, ToolDescriptor
from caps.capabilities.registry import CapabilityRegistry
from caps.providers.research.scratchpad import add, list_findings, remove, summary


class Research(Capability):
    """The four functions, as tools."""

    key = "research"
    name = "Research"
    description = "Deep research capability with organized scratchpad."
    icon = "search"
    category = "AI"
    system_prompt = (
        "You have access to a research scratchpad. Use it to organize your thoughts and findings."
    )
    tools = (
        ToolDescriptor(
            "add_finding",
            "Add Finding",
            "Add a finding with its sources to a section of the scratchpad.",
            "research.add",
        ),
        ToolDescriptor(
            "list_findings", "List Findings", "List the findings, by section.", "research.list"
        ),
        ToolDescriptor("remove_finding", "Remove Finding", "Remove a finding.", "research.remove"),
        ToolDescriptor(
            "summarize_findings",
            "Summarize Findings",
            "Render all findings as one document, with sections and sources.",
            "research.summary",
        ),
    )


def register_research(registry: CapabilityRegistry) -> None:
    """Declare the domain `research`, its functions and its capability."""
    registry.domain(
        "research", scope=None, title="Research", description="A scratchpad of findings."
    )
    reads, changes = frozenset({"reads"}), frozenset({"changes"})
    registry.capability("research.add", title="Add a finding", shown=("section",), tags=changes)(
        add
    )
    registry.capability(
        "research.list", title="List findings", shown=("section",), tags=reads, idempotent=True
    )(list_findings)
    registry.capability(
        "research.remove", title="Remove a finding", shown=("number",), tags=changes
    )(remove)
    registry.capability(
        "research.summary", title="Summarise the findings", tags=reads, idempotent=True
    )(summary)
    registry.register(Research)
