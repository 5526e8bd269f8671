"""Makes nodes of `ast` from the plain tree that `engines.syntax_trees` gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def build_tree(flat: list[tuple[str, dict[str, Any]]], classes: Mapping[str, type]) -> Any:
    """The root of the tree; children stand behind their parents in `flat`."""
    nodes: list[Any] = [classes[kind]() for kind, _attributes in flat]

    def decoded(kind: str, value: Any) -> Any:
        if kind == "list":
            return [decoded(*item) for item in value]
        return nodes[value] if kind == "node" else value

    for node, (_kind, attributes) in zip(nodes, flat, strict=True):
        for name, (kind, value) in attributes.items():
            setattr(node, name, decoded(kind, value))
    return nodes[0]
