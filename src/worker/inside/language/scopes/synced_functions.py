"""(4) Adds to the functions of evaluated text what keeps their variables in line.

    def f(): return limit     ->  def f(): <sync>("limit"); return limit
    def f(): global n; n = 1  ->  def f(): <sync>("n"); try: … finally: <sync>("n")
    def f(): globals()[a] = b ->  def f(): try: … finally: <sync>()

A name that the text itself binds by `def`, `class` or `import`, and that of a builtin, is left out:
it hardly ever changes, and code that only calls functions stays as fast as it is.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from caps.worker.inside.language.scopes.given_variables import SYNC_GUARD

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BUILTINS = frozenset(dir(builtins))


def sync_functions(tree: ast.Module) -> None:
    """Change every function of `tree`, which the transformer has checked."""
    bound = {name for one in tree.body for name in _defined(one)}
    changed = {name for one in tree.body if not _defined(one) for name in _stored(one)}
    _visit(tree, (bound - changed) | _BUILTINS)


def _visit(node: ast.AST, known: frozenset[str] | set[str]) -> None:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, _FUNCTIONS):
            _sync(inner, known)
        else:
            _visit(inner, known)


def _sync(function: _Function, known: frozenset[str] | set[str]) -> None:
    nodes = list(_evaluated_nodes(function))
    declared = {name for node, _ in nodes if isinstance(node, ast.Global) for name in node.names}
    bound = {name for node, is_own in nodes if is_own for name in _bound(node)}
    local = (_arguments(function) | bound) - declared
    # Also what an inner scope only sets: one name more does no harm.
    read = {node.id for node, _ in nodes if isinstance(node, ast.Name)}
    # The body of a class reads what it binds itself from the variables of the text.
    in_classes = {
        name for node, _ in nodes if isinstance(node, ast.ClassDef) for name in _set(node)
    }
    found = (read - (local - in_classes) - known) | declared
    names = {name for name in found if name.isidentifier()}
    _visit(function, known | local)
    # One that calls `globals` may set any of them, which no name stands for.
    ends = [] if "globals" in read else sorted(declared) or None
    _emit(function, sorted(names), ends)


def _arguments(function: _Function) -> set[str]:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return {one.arg for one in (*named, given.vararg, given.kwarg) if one is not None}


def _evaluated_nodes(function: _Function) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes that run with a function, each with whether what it binds is local to it.

    These are also the bodies of classes, and the defaults and decorators of functions in it.
    """
    pending: list[tuple[ast.AST, bool]] = [(one, True) for one in function.body]
    while pending:
        node, is_own = pending.pop()
        yield node, is_own
        inner = _inner_nodes(node)
        same = (one for one in ast.iter_child_nodes(node) if one not in inner)
        pending.extend((one, is_own) for one in same)
        if not isinstance(node, _FUNCTIONS):
            pending.extend((one, False) for one in inner)


def _inner_nodes(node: ast.AST) -> list[ast.AST]:
    """The children of a node that have a scope of their own."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [*node.body]
        case ast.Lambda():
            return [node.body]
        case ast.comprehension():
            return [node.target]
    return []


def _bound(node: ast.AST) -> list[str]:
    """The names that a node binds in its function."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    if isinstance(node, ast.Nonlocal):
        return node.names
    return _defined(node)


def _defined(node: ast.AST) -> list[str]:
    """The names that a `def`, `class` or `import` binds."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(one.asname or one.name).partition(".")[0] for one in node.names]
    return []


def _set(node: ast.ClassDef) -> set[str]:
    return {name for one in node.body for name in _stored(one)}


def _stored(node: ast.AST) -> set[str]:
    return {name for inner in ast.walk(node) for name in _bound(inner)}


def _emit(function: _Function, names: list[str], ends: list[str] | None) -> None:
    """`names` are brought in line at the start, and `ends` at the end: all, if it is empty."""
    body = function.body
    start = 1 if ast.get_docstring(function, clean=False) is not None else 0
    rest = body[start:]
    if not rest:
        return
    if ends is not None:
        leave = _call(ends, rest[-1])
        rest = [ast.copy_location(ast.Try(rest, [], [], [leave]), rest[0])]
    enter = [_call(names, rest[0])] if names else []
    function.body = [*body[:start], *enter, *rest]


def _call(names: list[str], place: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(SYNC_GUARD, ast.Load()), [ast.Constant(name) for name in names], [])
    statement = ast.copy_location(ast.Expr(call), place)
    return ast.fix_missing_locations(statement)
