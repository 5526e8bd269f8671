"""(4) Walks the syntax tree as RestrictedPython and `ast` do, in a third of the time.

They build the name of a visitor and look it up again at every node. Here it is looked up once for
each type of node. Which nodes are visited, in which order, and how the return value of a visitor is
used are the same: a node without a visitor is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

# Field values that need no visit: the most common ones that are not nodes, and the context of a
# name (load, store, delete), which contains nothing that could be refused.
_NOT_VISITED = frozenset({str, int, type(None), ast.Load, ast.Store, ast.Del})

_Visitor = Callable[[Any, Any], Any]


class _Visitors(dict[type[ast.AST], _Visitor]):
    """The visitors of one transformer, by type of node."""

    def __init__(self, transformer: type[CachedVisitor]) -> None:
        super().__init__()
        self._transformer = transformer

    def __missing__(self, kind: type[ast.AST]) -> _Visitor:
        """Look up the visitor of a type of node that is seen for the first time."""
        transformer = self._transformer
        # A type without a visitor gets `generic_visit`, which refuses it.
        visitor: _Visitor = getattr(
            transformer, f"visit_{kind.__name__}", transformer.generic_visit
        )
        self[kind] = visitor
        return visitor


class CachedVisitor(RestrictingNodeTransformer):
    """A transformer whose visitors are methods `visit_<type of node>`, as in `ast`."""

    _visitors: _Visitors

    def __init_subclass__(cls) -> None:
        cls._visitors = _Visitors(cls)

    def visit(self, node: ast.AST) -> Any:
        return self._visitors[type(node)](self, node)

    def node_contents_visit(self, node: Any) -> Any:
        """Visit the fields of `node`. Also the visitor of nodes that need nothing else."""
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
        """Replace each item by the result of its visitor: one node, several or none."""
        visitors = self._visitors
        results: list[Any] = []
        for item in items:
            visited = visitors[type(item)](self, item) if isinstance(item, ast.AST) else item
            if isinstance(visited, list):
                results += visited
            elif visited is not None or item is None:  # a dict has None for `**other`
                results.append(visited)
        items[:] = results
