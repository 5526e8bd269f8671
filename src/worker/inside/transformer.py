"""(4) The syntax tree, made safe: RestrictedPython's transformer with our own rules.

Its frame is kept: every node type has a visitor, and a node without one is refused, so that new
syntax is never trusted before somebody looked at it. Its guards are not: attributes whose name is
harmless, items, iteration and calls run as plain bytecode. A guard is emitted only where a name
alone does not settle it, and then under a name that no source can spell:

    x._own          ->  <own>(x, "_own")._own    only the user's own objects have private attributes
    x.format        ->  <read>(x, "format")      `str.format` must not walk attributes
    x.obj           ->  <read>(x, "obj")         an AttributeError's `obj` may be anything
    x.__class__     ->  <type>(x)                like `type(x)`: never the real metaclass
    except* E       ->  except* <star>(E)        only groups that split as Python's own do
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer, copy_locations

from caps.worker.inside.names import (
    ASSIGNABLE_IN_CLASS,
    CHECKED,
    DEFINABLE,
    READABLE,
    READABLE_VARIABLES,
    is_private,
    mangled,
    needs_guard,
    refusal,
)

OWN_GUARD = "<own>"
STAR_GUARD = "<star>"
READ_GUARD = "<read>"
TYPE_GUARD = "<type>"
RESULT_NAME = "<result>"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing in the source that is not allowed, and where."""

    message: str
    line: int
    column: int
    end_column: int | None


class Transformer(RestrictingNodeTransformer):
    """Checks every identifier and emits the four guards."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[Refusal] = []
        self._in_class = False
        self._class_name: str | None = None

    # -- how a refusal is kept ------------------------------------------------------------------

    def refuse(self, node: ast.AST, message: str) -> None:
        line = getattr(node, "lineno", 1)
        same_line = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", None) if same_line else None
        column = getattr(node, "col_offset", 0)
        self.refusals.append(Refusal(message, line, column, end))

    def error(self, node: ast.AST, info: str) -> None:
        """What the base class finds wrong."""
        self.refuse(node, info)

    def not_allowed(self, node: ast.AST) -> None:
        self.refuse(node, f"`{type(node).__name__}` is not supported")

    def check(self, node: ast.AST, name: str | None) -> None:
        message = refusal(name) if name is not None else None
        if message is not None:
            self.refuse(node, message)

    # -- nodes that only need their contents visited --------------------------------------------

    def _plain(self, node: ast.AST) -> Any:
        return self.node_contents_visit(node)

    visit_AnnAssign = visit_Assign = visit_AugAssign = visit_AsyncFor = visit_AsyncWith = _plain
    visit_Await = visit_DictComp = visit_For = visit_GeneratorExp = visit_Lambda = _plain
    visit_ListComp = visit_SetComp = visit_Subscript = visit_With = _plain
    visit_arguments = visit_comprehension = visit_match_case = _plain
    visit_Match = visit_MatchOr = visit_MatchSequence = visit_MatchSingleton = _plain
    visit_MatchValue = _plain

    # -- names ----------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> Any:
        readable = isinstance(node.ctx, ast.Load) and node.id in READABLE_VARIABLES
        assignable = (
            isinstance(node.ctx, ast.Store) and self._in_class and node.id in ASSIGNABLE_IN_CLASS
        )
        if not readable and not assignable:
            self.check(node, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        for name in node.names:
            self.check(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        for name in node.names:
            self.check(node, name)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        self.check(node, node.arg)
        return self._plain(node)

    def visit_keyword(self, node: ast.keyword) -> Any:
        self.check(node, node.arg)
        return self._plain(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.check(node, node.name)
        return self._plain(node)

    # -- attributes and calls -------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self.visit(node.value)
        loading = isinstance(node.ctx, ast.Load)
        if node.attr == "__class__" and loading:
            return self._guarded(TYPE_GUARD, value, node)
        if not (loading and node.attr in READABLE):
            self.check(node, node.attr)
        if node.attr in CHECKED and loading:
            return self._guarded(READ_GUARD, value, node, node.attr)
        if is_private(node.attr):
            name = mangled(node.attr, self._class_name)
            value = self._guarded(OWN_GUARD, value, node, name)
        node.value = value
        return node

    def visit_TryStar(self, node: ast.AST) -> Any:
        node = self._plain(node)
        for handler in getattr(node, "handlers", []):
            handler.type = self._guarded(STAR_GUARD, handler.type, handler.type)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if self._calls_inherited(node.func):
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            assert isinstance(node.func, ast.Attribute)
            node.func.value = self.visit(node.func.value)
            return node
        return self._plain(node)

    def _calls_inherited(self, function: ast.expr) -> bool:
        """`super().__init__(…)` or `Base.__init__(self, …)`, inside a class."""
        if not (isinstance(function, ast.Attribute) and function.attr in DEFINABLE):
            return False
        owner = function.value
        by_super = (
            isinstance(owner, ast.Call)
            and isinstance(owner.func, ast.Name)
            and owner.func.id == "super"
        )
        return by_super or isinstance(owner, ast.Name)

    def _guarded(self, guard: str, value: ast.expr, node: ast.expr, *names: str) -> ast.Call:
        arguments = [value, *(ast.Constant(name) for name in names)]
        call = ast.Call(func=ast.Name(guard, ast.Load()), args=arguments, keywords=[])
        copy_locations(call, node)
        return call

    # -- definitions ----------------------------------------------------------------------------

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        if not (self._in_class and node.name in DEFINABLE):
            self.check(node, node.name)
        self._refuse_type_parameters(node)
        before, self._in_class = self._in_class, False
        try:
            return self._plain(node)
        finally:
            self._in_class = before

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        self.check(node, node.name)
        self._refuse_type_parameters(node)
        for keyword in node.keywords:
            if keyword.arg == "metaclass":
                self.refuse(node, "a class cannot choose its metaclass")
        for outside in (node.decorator_list, node.bases, node.keywords):
            outside[:] = [self.visit(part) for part in outside]
        before = self._in_class, self._class_name
        self._in_class, self._class_name = True, node.name
        try:
            node.body = [self.visit(statement) for statement in node.body]
        finally:
            self._in_class, self._class_name = before
        return node

    def _refuse_type_parameters(self, node: ast.AST) -> None:
        if getattr(node, "type_params", None):
            self.refuse(node, "type parameters are not supported")

    # -- patterns -------------------------------------------------------------------------------

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        self.check(node, node.name)
        return self._plain(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        self.check(node, node.name)
        return self._plain(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        self.check(node, node.rest)
        return self._plain(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        for name in node.kwd_attrs:
            self.check(node, name)
            if needs_guard(name):
                self.refuse(node, f"a pattern cannot read the attribute `{name}`")
        # By position it reads what `__match_args__` names; OwnClasses keeps that harmless.
        return self._plain(node)

    # -- modules --------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> Any:
        return self._visit_import(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.level:
            self.refuse(node, "there is no package to import from")
        elif node.module != "__future__":
            self.check(node, node.module)
        return self._visit_import(node)

    def _visit_import(self, node: ast.Import | ast.ImportFrom) -> Any:
        if getattr(node, "is_lazy", 0):
            self.refuse(node, "lazy imports are not supported")
        for alias in node.names:
            if alias.name == "*":
                self.refuse(node, "name what you import; `*` is not supported")
            for part in alias.name.split("."):
                self.check(node, part)
                if isinstance(node, ast.ImportFrom) and is_private(part):
                    self.refuse(node, f"`{part}` is private to its module")
            self.check(node, alias.asname)
        return node

    def visit_Module(self, node: ast.Module) -> Any:
        node = self._plain(node)
        if node.body and isinstance(node.body[-1], ast.Expr):
            last = node.body[-1]
            keep = ast.Assign(targets=[ast.Name(RESULT_NAME, ast.Store())], value=last.value)
            copy_locations(keep, last)
            node.body[-1] = keep
        return node
