"""(4) How the syntax tree is walked: as RestrictedPython and `ast` do it, in a third of the time.

They put together the name of a visitor and look it up anew at every node. Here it is looked up once
for each type of node. What is visited, in which order, and what becomes of what a visitor returns
is the same: a node for which there is no visitor is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

# Most of what a node holds that is no node; and how a name is used, which every name says, and in
# which nothing is that could be refused.
_NOT_VISITED = frozenset({str, int, type(None), ast.Load, ast.Store, ast.Del})

_Visitor = Callable[[Any, Any], Any]


class _Visitors(dict[type[ast.AST], _Visitor]):
    """Those of one transformer, by the type of node that each is for."""

    def __init__(self, transformer: type[Walk]) -> None:
        super().__init__()
        self._transformer = transformer

    def __missing__(self, kind: type[ast.AST]) -> _Visitor:
        """Of a type that is met for the first time."""
        own = self._transformer
        # One that has none comes to `generic_visit`, which refuses it.
        visitor: _Visitor = getattr(own, f"visit_{kind.__name__}", own.generic_visit)
        self[kind] = visitor
        return visitor


class Walk(RestrictingNodeTransformer):
    """A transformer whose visitors are methods `visit_<type of node>`, as ever."""

    _visitors: _Visitors

    def __init_subclass__(cls) -> None:
        cls._visitors = _Visitors(cls)

    def visit(self, node: ast.AST) -> Any:
        return self._visitors[type(node)](self, node)

    def node_contents_visit(self, node: Any) -> Any:
        """Also the visitor itself of nodes that only need their contents visited."""
        visitors = self._visitors
        for field in node._fields:
            value = getattr(node, field, None)
            kind: type[Any] = type(value)
            if kind is list:
                if value:
                    self._visit_all(value)
            elif kind not in _NOT_VISITED and isinstance(value, ast.AST):
                visited = visitors[kind](self, value)
                if visited is None:
                    delattr(node, field)
                elif visited is not value:
                    setattr(node, field, visited)
        return node

    def _visit_all(self, items: list[Any]) -> None:
        """Put in the place of each what its visitor gives for it: one, several or none."""
        visitors = self._visitors
        given: list[Any] = []
        for item in items:
            visited = visitors[type(item)](self, item) if isinstance(item, ast.AST) else item
            if isinstance(visited, list):
                given += visited
            elif visited is not None or item is None:  # a dict has None for `**other`
                given.append(visited)
        items[:] = given
