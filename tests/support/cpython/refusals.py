"""Replaces what the language layer refuses, so that a refused statement hides as little as it can.

Every statement at the top of a file, in its classes of tests and in their `setUp` is tried on its
own. A refused statement becomes a call that raises an error. In a class at the top of the file a
refused method is left out.
"""

from __future__ import annotations

import ast

from caps.worker.inside.language.transformer import Transformer

_SET_UP = frozenset({"asyncSetUp", "setUp", "setUpClass", "tearDown", "tearDownClass"})


def without_refusals(tree: ast.Module) -> str:
    """The source of `tree`, every statement tried on its own, without what is refused."""
    tree.body = [_tried(one, _name_of(one)) for one in tree.body]
    source = ast.unparse(ast.fix_missing_locations(tree))
    while True:
        refusals = _refusals(source)
        if not refusals:
            return source
        module = ast.parse(source)
        for line, message in refusals.items():
            _replace(module.body, line, message)
        source = ast.unparse(ast.fix_missing_locations(module))


def _refusals(source: str) -> dict[int, str]:
    transformer = Transformer()
    transformer.visit(ast.parse(source))
    found = {one.line: one.message for one in transformer.refusals}
    return found or _errors(source)


def _errors(source: str) -> dict[int, str]:
    """An error that what was replaced causes: a `nonlocal` name that nothing binds any more."""
    try:
        compile(source, "<tests>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return {error.lineno or 1: error.msg}
    return {}


def _name_of(node: ast.stmt) -> str:
    return node.name if isinstance(node, ast.ClassDef | ast.FunctionDef) else ast.unparse(node)[:80]


def _tried(node: ast.stmt, what: str, note: str = "note_") -> ast.stmt:
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return node
    if isinstance(node, ast.ClassDef) and _has_tests(node):
        inner = [_tried_member(one, node.name) for one in node.body]
        node = ast.ClassDef(**{**vars(node), "body": inner})
    handler = ast.parse(f"try: pass\nexcept BaseException as error_: {note}({what!r}, error_)")
    block = handler.body[0]
    assert isinstance(block, ast.Try)
    block.body = [node]
    return block


def _has_tests(node: ast.ClassDef) -> bool:
    members = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
    return any(is_test(one) or one.name in _SET_UP for one in members)


def _tried_member(node: ast.stmt, owner: str) -> ast.stmt:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in _SET_UP:
        node.body = _tried_statements(node.body, f"{owner}.{node.name}")
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return _tried(node, f"{owner}.{node.name}") if node.decorator_list else node
    return node if isinstance(node, ast.Pass | ast.Expr) else _tried(node, owner)


def _tried_statements(body: list[ast.stmt], what: str) -> list[ast.stmt]:
    """The statements of a `setUp`: tests that need nothing of one that fails run nevertheless."""
    found: list[ast.stmt] = []
    for one in body:
        if isinstance(one, ast.If):
            one.body = _tried_statements(one.body, what)
            one.orelse = _tried_statements(one.orelse, what)
        found.append(one if isinstance(one, ast.If) else _tried(one, what, "note_set_up_"))
    return found


def _replace(body: list[ast.stmt], line: int, message: str, owner: str = "") -> bool:
    """Replace the smallest statement that has this line; `owner` is where `body` stands."""
    for position, one in enumerate(body):
        first = min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", []))])
        if not first <= line <= (one.end_lineno or one.lineno):
            continue
        inner = _inner_owner(one, owner)
        if not any(_replace(part, line, message, inner) for part in _bodies(one)):
            body[position] = _replacement(one, message, owner)
        return True
    return False


def _inner_owner(node: ast.stmt, owner: str) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return "function"
    return "class" if isinstance(node, ast.ClassDef) and owner != "function" else owner


def _bodies(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of statements inside a statement."""
    parts = [node, *getattr(node, "handlers", []), *getattr(node, "cases", [])]
    fields = ("body", "orelse", "finalbody")
    return [getattr(part, field) for part in parts for field in fields if hasattr(part, field)]


def _replacement(node: ast.stmt, message: str, owner: str) -> ast.stmt:
    name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else "__"
    if owner == "class" and name.startswith(("__", "tearDown")):
        return _located(ast.Pass(), node)
    if owner == "class":
        function = ast.parse(f"def {name}(*args, **options): refused_({message!r})").body[0]
        return _located(function, node)
    return _located(ast.parse(f"refused_({message!r})").body[0], node)


def _located(new: ast.stmt, old: ast.stmt) -> ast.stmt:
    for node in ast.walk(new):
        ast.copy_location(node, old)
    return new


def is_test(node: ast.AST) -> bool:
    """Whether a statement in a class defines a test."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
