"""The tree is walked as `ast` and RestrictedPython walk it, only quicker."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from RestrictedPython.transformer import RestrictingNodeTransformer

from caps.worker.inside.language import visitor
from caps.worker.inside.language.identifiers import WRITABLE, is_private, refusal
from caps.worker.inside.language.inlined_calls import (
    inline_type_call,
    is_plain_format,
    is_type_call,
)
from caps.worker.inside.language.private_attributes import guarded
from caps.worker.inside.language.transformer import WRITE_GUARD, Transformer
from caps.worker.inside.language.visitor import CachedVisitor
from support.language_files import constructs

TESTS = Path(__file__).parents[4]
# Too deep, or syntax of a newer Python.
NO_TREES = {"deep_nesting", *(one.name for one in constructs() if not one.runs_here)}
SOURCES = sorted(
    file
    for folder in ("constructs", "refused")
    for file in (TESTS / folder).glob("*.py")
    if file.stem not in NO_TREES
)


# What RestrictedPython refuses or guards, and our rules allow as it is.
ALLOWED = {
    *("Assign", "AsyncFor", "AsyncWith", "Await", "DictComp", "For", "GeneratorExp", "Lambda"),
    *("ListComp", "SetComp", "Subscript", "With", "comprehension"),
}


class Slowly(Transformer):
    """Every rule of our own, asked about every name, and the visits of the base classes."""

    visit = RestrictingNodeTransformer.visit
    visit_Constant = RestrictingNodeTransformer.visit_Constant  # noqa: N815 - the node's own name

    def check(self, node: ast.AST, name: str | None) -> None:
        message = None if name is None else refusal(name)
        if message is not None:
            self.refuse(node, message)

    def visit_Name(self, node: ast.Name) -> Any:  # noqa: N802 - the node's own name
        message = refusal(node.id)
        if message is not None and not self._is_allowed_variable(node):
            self.refuse(node, message)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        self.check(node, node.arg)
        return self.node_contents_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:  # noqa: N802 - the node's own name
        if is_plain_format(node.func):
            node.args = [self.visit(one) for one in node.args]
            node.keywords = [self.visit(one) for one in node.keywords]
            return node
        node = self.node_contents_visit(node)
        return inline_type_call(node) if is_type_call(node) else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:  # noqa: N802 - the node's own name
        value, name = self.visit(node.value), node.attr
        if isinstance(node.ctx, ast.Load):
            return self._read(node, value, name)
        if isinstance(node.ctx, ast.Store) and name in WRITABLE:
            node.value = guarded(WRITE_GUARD, value, node)
            return node
        self.check(node, name)
        node.value = self._guard_private(value, node) if is_private(name) else value
        return node


# Under every name that it has there: it is the visitor of many nodes, too. Those of the base class
# itself, as they are installed: a check that a later version has is not passed over unseen.
_visit_contents = RestrictingNodeTransformer.node_contents_visit
for _name in dir(Transformer):
    if getattr(Transformer, _name) is CachedVisitor.node_contents_visit:
        _is_ours = _name.removeprefix("visit_") in ALLOWED
        _original = getattr(RestrictingNodeTransformer, _name, _visit_contents)
        setattr(Slowly, _name, _visit_contents if _is_ours else _original)


class Replacing(CachedVisitor):
    """Gives one, several or no nodes for a name."""

    def visit_Name(self, node: ast.Name) -> Any:  # noqa: N802 - the node's own name
        return {"gone": None, "two": [node, ast.Name("second", node.ctx)]}.get(node.id, node)

    def visit_Tuple(self, node: ast.Tuple) -> Any:  # noqa: N802 - the node's own name
        return self.node_contents_visit(node)

    def visit_Expression(self, node: ast.Expression) -> Any:  # noqa: N802 - the node's own name
        return self.node_contents_visit(node)


class Unheard(ast.expr):
    """Syntax of some later Python."""

    _fields = ()


class UnheardOperator(ast.operator):
    """An operator of some later Python."""

    _fields = ()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_program_becomes_the_same_tree_and_the_same_refusals(source: Path) -> None:
    """Whatever it consists of, and whatever is wrong with it."""
    found = []
    for kind in (Transformer, Slowly):
        transformer = kind()
        tree = transformer.visit(ast.parse(source.read_text()))
        found.append((ast.dump(tree, include_attributes=True), transformer.refusals))
    assert found[0] == found[1]


def test_a_node_without_a_visitor_is_refused() -> None:
    """The first time it is visited, and every time after it."""
    for _ in range(2):
        transformer = Transformer()
        transformer.visit(ast.Expression(ast.List([Unheard()], ast.Load())))
        assert [one.message for one in transformer.refusals] == ["`Unheard` is not supported"]


def test_a_node_whose_fields_are_visited_by_name_has_no_other() -> None:
    """A field of some later Python must be visited, too."""
    assert ast.Call._fields == ("func", "args", "keywords")
    assert ast.arg._fields == ("arg", "annotation", "type_comment")


def test_an_operator_that_is_not_known_is_refused() -> None:
    """Only those that are known need no visit."""
    transformer = Transformer()
    one, two = ast.Constant(1), ast.Constant(2)
    transformer.visit(ast.Expression(ast.BinOp(one, UnheardOperator(), two)))
    assert [one.message for one in transformer.refusals] == ["`UnheardOperator` is not supported"]


def test_a_node_that_needs_no_visit_has_nothing_to_visit() -> None:
    """And RestrictedPython knows it."""
    for kind in visitor._BARE_NODES:
        assert kind._fields == ()
        assert hasattr(RestrictingNodeTransformer, f"visit_{kind.__name__}")


def test_a_visitor_may_give_none_or_several() -> None:
    """Those of a list are dropped or put in its place."""
    walked = Replacing().visit(ast.parse("(one, gone, two)", mode="eval"))
    assert ast.unparse(walked) == "(one, two, second)"


def test_a_field_whose_node_is_gone_is_gone() -> None:
    """As in the base class: what is left does not compile."""
    walked = Replacing().visit(ast.parse("gone", mode="eval"))
    assert not hasattr(walked, "body")


def test_the_visitors_of_all_known_nodes_are_looked_up_in_advance() -> None:
    """So no worker has to."""
    known = {each for each in vars(ast).values() if isinstance(each, type)}
    assert set(Transformer._visitors) >= {each for each in known if issubclass(each, ast.AST)}
