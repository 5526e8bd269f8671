"""(4) Walks the syntax tree as RestrictedPython and `ast` do, in a fraction of the time.

They build the name of a visitor and look it up again at every node. Here it is looked up once for
each type of node; and operators, in which nothing could be refused, are passed over. Which other
nodes are visited, in which order, and how the return value of a visitor is used are the same: a
node without a visitor is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

# Nodes in which nothing could be refused: the context of a name (load, store, delete), and the
# operators that are known today. A new one has to be visited, and so is refused.
_BARE_NODES = (
    *(ast.Load, ast.Store, ast.Del, ast.And, ast.Or, ast.Not, ast.Invert, ast.UAdd, ast.USub),
    *(ast.Add, ast.Sub, ast.Mult, ast.MatMult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn),
)

_Visitor = Callable[[Any, Any], Any]


class _Visitors(dict[type[Any], _Visitor | None]):
    """The visitors of one transformer, by type of what is visited; None if it needs no visit."""

    def __init__(self, transformer: type[CachedVisitor]) -> None:
        super().__init__(dict.fromkeys(_BARE_NODES))
        self[list] = transformer.visit_all
        self._transformer = transformer
        for kind in vars(ast).values():
            if isinstance(kind, type) and issubclass(kind, ast.AST) and kind not in self:
                self.__missing__(kind)  # now, and not in each worker

    def __missing__(self, kind: type[Any]) -> _Visitor | None:
        """Look up the visitor of a type that is seen for the first time."""
        visitor: _Visitor | None = None
        if issubclass(kind, ast.AST):
            transformer = self._transformer
            # A type without a visitor gets `generic_visit`, which refuses it.
            visitor = getattr(transformer, f"visit_{kind.__name__}", transformer.generic_visit)
        self[kind] = visitor
        return visitor


class CachedVisitor(RestrictingNodeTransformer):
    """A transformer whose visitors are methods `visit_<type of node>`, as in `ast`."""

    _visitors: _Visitors

    def __init_subclass__(cls) -> None:
        cls._visitors = _Visitors(cls)

    def visit(self, node: ast.AST) -> Any:
        visitor = self._visitors[type(node)]
        return node if visitor is None else visitor(self, node)

    def node_contents_visit(self, node: Any) -> Any:
        """Visit the fields of `node`. Also the visitor of nodes that need nothing else."""
        visitors = self._visitors
        values = node.__dict__
        for field in node._fields:
            value = values.get(field)
            if value and (visitor := visitors[type(value)]) is not None:
                visited = visitor(self, value)
                if visited is None:
                    delattr(node, field)
                elif visited is not value:
                    setattr(node, field, visited)
        return node

    def visit_all(self, items: list[Any]) -> list[Any]:
        """Replace each item by the result of its visitor: one node, several or none."""
        visitors = self._visitors
        results: list[Any] = []
        is_changed = False
        for item in items:
            visitor = visitors[type(item)]
            visited = item if visitor is None else visitor(self, item)
            if visited is item:
                results.append(item)
                continue
            is_changed = True
            if isinstance(visited, list):
                results += visited
            elif visited is not None:
                results.append(visited)
        if is_changed:
            items[:] = results
        return items
