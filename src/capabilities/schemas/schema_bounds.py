"""The bounds of a schema that others wrote: it refers only to itself, and is small when expanded.

A few definitions that refer to each other can stand for any number of rules, and every reader (a
validator, a planner, a form, a prompt) expands them. So references are followed here, and counted.
"""

from __future__ import annotations

from typing import Any, Final

from caps.capabilities.schemas.schema import CompiledSchema
from caps.protocol.errors import RegistrationError
from caps.protocol.text import printable

MAX_EXPANDED_NODES: Final = 20_000
MAX_EXPANDED_DEPTH: Final = 64
# They are resolved against a base or at run time, so a reader cannot see what they mean.
_REFUSED_KEYS: Final = ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef")


def check_schema(schema: dict[str, Any], label: str) -> None:
    """RegistrationError unless `schema`, which is plain JSON, is a JSON Schema within bounds."""
    _Expansion(schema, label).follow(schema, (), 0)
    CompiledSchema(schema, f"`{label}`")


class _Expansion:
    """Walks a schema as if each reference were replaced by what it refers to."""

    def __init__(self, root: dict[str, Any], label: str) -> None:
        self._root = root
        self._label = label
        self._nodes_left = MAX_EXPANDED_NODES

    def follow(self, node: object, within: tuple[str, ...], depth: int) -> None:
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise self._refusal(f"has more than {MAX_EXPANDED_NODES} nodes when it is expanded")
        if depth > MAX_EXPANDED_DEPTH:
            raise self._refusal(f"is deeper than {MAX_EXPANDED_DEPTH} levels when it is expanded")
        if isinstance(node, list):
            for item in node:
                self.follow(item, within, depth + 1)
        elif isinstance(node, dict):
            self._follow_reference(node, within, depth)
            for item in node.values():
                self.follow(item, within, depth + 1)

    def _follow_reference(self, node: dict[str, Any], within: tuple[str, ...], depth: int) -> None:
        for key in _REFUSED_KEYS:
            if isinstance(node.get(key), str):
                raise self._refusal(f"has `{key}`; write `$ref` with a path such as `#/$defs/item`")
        target = node.get("$ref")
        if not isinstance(target, str):
            return
        if target in within:
            raise self._refusal(f"refers to itself by `{printable(target, 80)}`")
        self.follow(self._found(target), (*within, target), depth + 1)

    def _found(self, target: str) -> object:
        shown = printable(target, 80)
        if not target.startswith("#"):
            raise self._refusal(f"refers to `{shown}`; a schema may refer only to itself")
        if target != "#" and not target.startswith("#/"):
            raise self._refusal(f"refers to `{shown}`; write a path such as `#/$defs/item`")
        node: Any = self._root
        for part in target.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or name not in node:
                raise self._refusal(f"refers to `{shown}`, which it does not have")
            node = node[name]
        return node

    def _refusal(self, what: str) -> RegistrationError:
        return RegistrationError(f"`{self._label}` {what}")
