"""Write docs/catalogue.md from the built-in registry; `--check` fails if it is stale."""

from __future__ import annotations

import json
import sys

from generated_page import ROOT, write_or_check

from caps import CapabilityRegistry, builtin_registry
from caps.capabilities.catalogue.declaration import CapabilityDescriptor

sys.path.insert(0, str(ROOT / "tests"))

from support.catalogue_examples import (
    CatalogueExample,
    catalogue_examples,
)

PAGE = ROOT / "docs" / "catalogue.md"
INTRODUCTION = """\
# The built-in capabilities

What an agent can be given without installing a package; [capabilities.md](capabilities.md)
explains how. Nothing here is granted by itself. `caps capabilities` prints this list, and
`caps capabilities KEY` one of them.

`make catalogue` generates this page from the registry. The examples are in
`examples/capabilities/`; the tests run each one in a confined worker and compare its output.

| capability | status | category | icon | tools |
|---|---|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    registry = builtin_registry(plugins="off")
    known = registry.known_capabilities()
    examples = {each.key: each for each in catalogue_examples()}
    rows = [
        f"| [`{each.key}`](#{each.key}) | {each.status.value} | {each.category or ''} | "
        f"{each.icon or ''} | {', '.join(f'`{tool.key}`' for tool in each.tools)} |"
        for each in known
    ]
    sections = [_section(registry, each, examples.get(each.key)) for each in known]
    return INTRODUCTION + "\n".join(rows) + "\n\n" + "\n".join(sections)


def _section(
    registry: CapabilityRegistry, one: CapabilityDescriptor, example: CatalogueExample | None
) -> str:
    lines = [f"## {one.key}", "", one.description, ""]
    if one.tools:
        lines += ["| tool | function | parameters | what it does |", "|---|---|---|---|"]
        for tool in one.tools:
            spec = registry.capabilities[tool.function or ""].spec
            parameters = ", ".join(f"`{name}`" for name in spec.schema_in.get("properties", {}))
            summary = spec.description.partition("\n")[0]
            lines.append(f"| `{tool.key}` | `{tool.function}` | {parameters} | {summary} |")
        lines.append("")
    if one.config_schema is not None:
        for name, schema in one.config_schema["properties"].items():
            lines.append(f"Setting `{name}`: {schema.get('description', '')}")
        lines.append("")
    if one.system_prompt is not None:
        first = one.system_prompt.strip().partition("\n")[0].lstrip("# ")
        lines += [f"It adds to the prompt: *{first}*", ""]
    if example is not None:
        lines += ["```json", json.dumps(example.agent), "```", "", "```python"]
        lines += [example.code.rstrip(), "```", "", "```text", example.output.rstrip(), "```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    write_or_check(PAGE, page(), target="catalogue", description=__doc__)
