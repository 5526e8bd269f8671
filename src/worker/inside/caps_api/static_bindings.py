"""(4) Which expressions of the source refer to `caps`: by its own name, an import or an alias.

Scopes are not distinguished. A name counts as an alias only if the whole source binds it exactly
once. So every alias that is followed is certain.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

# The part of the namespace that an expression means: (), (domain,), (domain, function) or longer.
Path = tuple[str, ...]


class Bindings:
    """What the names of one source refer to."""

    def __init__(self, tree: ast.Module, namespace: str) -> None:
        self._namespace = namespace
        self._aliases: dict[str, Path] = {}
        nodes = list(ast.walk(tree))
        counts = Counter(name for node in nodes for name in _bound_names(node))
        own = sum(_imports_as_itself(node, namespace) for node in nodes)
        self.shadowed = counts[namespace] > own
        """Somewhere in the source the name of the namespace is bound to something else."""
        # In the order of the source, so that an alias of an alias is known when it is reached.
        for node in sorted(nodes, key=_position):
            for name, path in self._alias_candidates(node):
                if counts[name] == 1 and path is not None:
                    self._aliases[name] = path

    def path(self, node: ast.AST) -> Path | None:
        """What `node` refers to; None if this is not known."""
        if isinstance(node, ast.Name):
            return () if node.id == self._namespace else self._aliases.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.path(node.value)
            return None if base is None else (*base, node.attr)
        if isinstance(node, ast.Call):
            called = self.path(node.func)
            # `options` returns the same capability.
            return called[:2] if called is not None and called[2:] == ("options",) else None
        return None

    def root_path(self, node: ast.AST) -> Path | None:
        """What the name at the start of `node` refers to by itself."""
        while isinstance(node, (ast.Attribute, ast.Call)):
            node = node.value if isinstance(node, ast.Attribute) else node.func
        return self.path(node)

    def _alias_candidates(self, node: ast.AST) -> Iterator[tuple[str, Path | None]]:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                yield name, self.path(value)
            case ast.Import(names=names):
                for one in names:
                    if one.name == self._namespace and one.asname:
                        yield one.asname, ()
            case ast.ImportFrom(module=self._namespace, names=names, level=0):
                for one in names:
                    yield one.asname or one.name, (one.name,)


def _imports_as_itself(node: ast.AST, namespace: str) -> int:
    """How many times `node` binds the namespace to its own name, which changes nothing."""
    if not isinstance(node, ast.Import):
        return 0
    return sum(one.name == namespace and one.asname in (None, namespace) for one in node.names)


def _bound_names(node: ast.AST) -> Iterator[str]:
    """The names that `node` itself binds or unbinds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            for one in names:
                yield one.asname or one.name.partition(".")[0]
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            yield name


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
