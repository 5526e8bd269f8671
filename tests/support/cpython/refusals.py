"""Replaces what the language layer refuses, so that one refused test does not hide the others.

Every statement at the top of a file and in its classes of tests is tried on its own. A test method
that is refused raises an error that says so.
"""

from __future__ import annotations

import ast

from caps.worker.inside.language.transformer import Transformer


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
            _replace(module, line, message)
        source = ast.unparse(ast.fix_missing_locations(module))


def _refusals(source: str) -> dict[int, str]:
    transformer = Transformer()
    transformer.visit(ast.parse(source))
    return {one.line: one.message for one in transformer.refusals}


def _name_of(node: ast.stmt) -> str:
    return node.name if isinstance(node, ast.ClassDef | ast.FunctionDef) else ast.unparse(node)[:80]


def _tried(node: ast.stmt, what: str) -> ast.stmt:
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return node
    if isinstance(node, ast.ClassDef) and any(map(is_test, ast.walk(node))):
        inner = [_tried_member(one, node.name) for one in node.body]
        node = ast.ClassDef(**{**vars(node), "body": inner})
    handler = ast.parse(f"try: pass\nexcept BaseException as error_: note_({what!r}, error_)")
    block = handler.body[0]
    assert isinstance(block, ast.Try)
    block.body = [node]
    return block


def _tried_member(node: ast.stmt, owner: str) -> ast.stmt:
    plain = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list
    return node if plain or isinstance(node, ast.Pass | ast.Expr) else _tried(node, owner)


def _replace(module: ast.Module, line: int, message: str) -> None:
    """Replace the smallest part that can go: a method of a class of tests, or a statement."""
    for block in module.body:
        if not block.lineno <= line <= (block.end_lineno or block.lineno):
            continue
        inner = block.body[0] if isinstance(block, ast.Try) else block
        if (
            isinstance(inner, ast.ClassDef)
            and any(map(is_test, ast.walk(inner)))
            and _replace_in(inner.body, line, message)
        ):
            return
        assert isinstance(block, ast.Try)
        block.body = [_refused(message, inner)]
        return


def _replace_in(body: list[ast.stmt], line: int, message: str) -> bool:
    for position, one in enumerate(body):
        first = min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", []))])
        if not first <= line <= (one.end_lineno or one.lineno):
            continue
        if isinstance(one, ast.Try):
            return _replace_in(one.body, line, message)
        name = one.name if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) else "__"
        if not name.startswith(("__", "tearDown")):
            function = ast.parse(f"def {name}(*args, **options): pass").body[0]
            assert isinstance(function, ast.FunctionDef)
            function.body = [_refused(message, one)]
            body[position] = _located(function, one)
        else:
            body[position] = _located(ast.Pass(), one)
        return True
    return False


def _refused(message: str, instead_of: ast.stmt) -> ast.stmt:
    return _located(ast.parse(f"refused_({message!r})").body[0], instead_of)


def _located(new: ast.stmt, old: ast.stmt) -> ast.stmt:
    for node in ast.walk(new):
        ast.copy_location(node, old)
    return new


def is_test(node: ast.AST) -> bool:
    """Whether a statement in a class defines a test."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
