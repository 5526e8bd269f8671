"""(4) The syntax tree, made safe: RestrictedPython's transformer with our own rules.

Its frame is kept: every node type has a visitor, and a node without one is refused, so that new
syntax is never trusted before somebody looked at it. Its guards are not: attributes whose name is
harmless, items, iteration and calls run as plain bytecode. A guard is emitted only where a name
alone does not settle it, and then under a name that no source can spell:

    x._own              ->  <own>(x, "_own")._own     only the user's own objects have private
                                                      attributes; `privacy` says where one check
                                                      is enough for many, `library_names` where
                                                      none is needed
    x.format, x.obj     ->  <read>(x, "format")       see `reflection`
    x.obj += y          ->  <change>(x, "obj").obj += y
    x.__class__         ->  <type>(x)                 like `type(x)`: never the real metaclass
    type(x)             ->  <shown>[<kind>(x)]        if `type` is still ours
    x.__name__ = y      ->  <write>(x).__name__ = y   see `hooks`, as for the next two
    x.__setattr__       ->  <inherited>(x, "__setattr__")
    def __getattr__     ->  @<hook>("__getattr__") def __getattr__
    except* E           ->  except* <star>(E)         only groups that split as Python's own do
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from RestrictedPython.transformer import copy_locations

from caps.worker.inside.language.format_strings import reads_no_attribute
from caps.worker.inside.language.known_private_names import is_nobodys
from caps.worker.inside.language.identifiers import (
    ASSIGNABLE_IN_CLASS,
    CHECKED,
    DEFINABLE,
    FORMATTERS,
    HOOKS,
    OPERATIONS,
    READABLE,
    READABLE_VARIABLES,
    SIGNALS,
    VARIABLES,
    WRITABLE,
    is_private,
    mangled,
    needs_guard,
    refusal,
)
from caps.worker.inside.language.private_attributes import (
    KIND_OF,
    FunctionNode,
    entry_check,
    guarded,
    own_value,
    settled_variable,
)
from caps.worker.inside.language.visitor import Walk

CHANGE_GUARD = "<change>"
HOOK_GUARD = "<hook>"
INHERITED_GUARD = "<inherited>"
STAR_GUARD = "<star>"
READ_GUARD = "<read>"
SAFE_TYPE = "<safe type>"
SHOWN_TYPES = "<shown>"
TYPE_GUARD = "<type>"
WRITE_GUARD = "<write>"
RESULT_NAME = "<result>"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing in the source that is not allowed, and where."""

    message: str
    line: int
    column: int
    end_column: int | None


class Transformer(Walk):
    """Checks every identifier and emits the guards."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[Refusal] = []
        self._in_class = False
        self._class_name: str | None = None
        # Variables that were checked when their function was entered, and the private attributes
        # of theirs that the check has to cover.
        self._settled: dict[str, dict[str, ast.expr]] = {}
        # Every private attribute that the source spells.
        self.private_names: set[str] = set()
        # Those of them that nothing but the user's own code has: see `library_names`.
        self.unguarded: set[str] = set()

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

    _plain = Walk.node_contents_visit

    visit_AnnAssign = visit_Assign = visit_AsyncFor = visit_AsyncWith = _plain
    visit_Await = visit_DictComp = visit_For = visit_GeneratorExp = visit_Lambda = _plain
    visit_ListComp = visit_SetComp = visit_Subscript = visit_With = _plain
    visit_arguments = visit_comprehension = visit_match_case = _plain
    visit_Match = visit_MatchOr = visit_MatchSequence = visit_MatchSingleton = _plain
    visit_MatchValue = _plain

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node  # there is nothing in it

    # -- names ----------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> Any:
        message = refusal(node.id)
        if message is not None and not self._may_name(node):
            self.refuse(node, message)
        return node

    def _may_name(self, node: ast.Name) -> bool:
        """Whether a variable may have this name whatever `refusal` says of it."""
        if isinstance(node.ctx, ast.Load):
            return node.id in READABLE_VARIABLES or (self._in_class and node.id in OPERATIONS)
        return node.id in VARIABLES or (self._in_class and node.id in ASSIGNABLE_IN_CLASS)

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
        name = node.attr
        if isinstance(node.ctx, ast.Load):
            return self._read(node, value, name)
        if isinstance(node.ctx, ast.Store) and name in WRITABLE:
            node.value = guarded(WRITE_GUARD, value, node)
            return node
        self.check(node, name)
        node.value = self._own(value, node) if is_private(name) else value
        return node

    def _read(self, node: ast.Attribute, value: ast.expr, name: str) -> Any:
        if name == "__class__":
            return guarded(TYPE_GUARD, value, node)
        if name in CHECKED or name in SIGNALS:
            return guarded(READ_GUARD, value, node, name)
        if name in HOOKS:
            return guarded(INHERITED_GUARD, value, node, name)
        if name not in READABLE:
            self.check(node, name)
        node.value = self._own(value, node) if is_private(name) else value
        return node

    def _own(self, value: ast.expr, node: ast.Attribute) -> ast.expr:
        """`value`, with what it takes to know that its private attribute is the user's."""
        name = mangled(node.attr, self._class_name)
        self.private_names.add(name)
        if is_nobodys(name):
            self.unguarded.add(name)
            return value
        if isinstance(value, ast.Name) and value.id in self._settled:
            self._settled[value.id].setdefault(name, node)
            return value
        return own_value(value, node, name)

    def visit_Call(self, node: ast.Call) -> Any:
        method = node.func
        if (
            isinstance(method, ast.Attribute)
            and method.attr in FORMATTERS
            and isinstance(method.value, ast.Constant)
            and type(method.value.value) is str
            and reads_no_attribute(method.value.value)
        ):
            # The template is known, and no field of it reads an attribute: a call like any other.
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        node = self._plain(node)
        return _looked_up_type(node) if _asks_type(node) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if isinstance(target, ast.Attribute) and target.attr in WRITABLE:
            self.refuse(node, f"`{target.attr}` can only be assigned")
        node = self._plain(node)
        if isinstance(target, ast.Attribute) and target.attr in CHECKED | SIGNALS:
            # It is read, too, and what stands on the right is handed what was read.
            target.value = guarded(CHANGE_GUARD, target.value, target, target.attr)
        return node

    def visit_TryStar(self, node: ast.AST) -> Any:
        node = self._plain(node)
        for handler in getattr(node, "handlers", []):
            handler.type = guarded(STAR_GUARD, handler.type, handler.type)
        return node

    # -- definitions ----------------------------------------------------------------------------

    def _visit_function(self, node: FunctionNode) -> Any:
        if not (self._in_class and node.name in DEFINABLE):
            self.check(node, node.name)
        # Decorators, defaults and annotations belong to the scope around.
        self._visit_around(node)
        before = self._in_class, self._settled
        variable = settled_variable(node) if self._in_class else None
        self._in_class = False
        self._settled = {**self._settled, **({variable: {}} if variable else {})}
        try:
            node.body = self._visit_body(node.body)
            if variable and self._settled[variable]:
                check = entry_check(variable, self._settled[variable])
                node.body.insert(_docstring(node), check)
        finally:
            self._in_class, self._settled = before
        if self._in_class and node.name in HOOKS:
            hook = ast.Call(ast.Name(HOOK_GUARD, ast.Load()), [ast.Constant(node.name)], [])
            copy_locations(hook, node)
            node.decorator_list.insert(0, hook)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def _visit_around(self, node: FunctionNode) -> None:
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        self._visit_type_parameters(node)
        node.args = self.visit(node.args)
        if node.returns is not None:
            node.returns = self.visit(node.returns)

    def _visit_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        visited = [self.visit(statement) for statement in body]
        return [one for part in visited for one in (part if isinstance(part, list) else [part])]

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        self.check(node, node.name)
        if getattr(node, "type_params", []):
            self._refuse_mangled(node)
        for outside in (node.decorator_list, node.bases, node.keywords):
            outside[:] = [self.visit(part) for part in outside]
        self._visit_type_parameters(node)
        before = self._in_class, self._class_name
        self._in_class, self._class_name = True, node.name
        try:
            node.body = self._visit_body(node.body)
        finally:
            self._in_class, self._class_name = before
        return node

    def _refuse_mangled(self, node: ast.ClassDef) -> None:
        """Which class a `__name` in the head of a generic one belongs to hangs on the Python."""
        heads = [*node.bases, *node.keywords, *getattr(node, "type_params", [])]
        for part in heads:
            for inner in ast.walk(part):
                name = inner.attr if isinstance(inner, ast.Attribute) else None
                name = inner.id if isinstance(inner, ast.Name) else name
                if name is not None and name.startswith("__") and not name.endswith("__"):
                    self.refuse(inner, f"`{name}` in the head of a generic class")

    def _visit_type_parameters(self, node: ast.AST) -> None:
        parameters = getattr(node, "type_params", [])
        parameters[:] = [self.visit(one) for one in parameters]

    def _visit_type_parameter(self, node: Any) -> Any:
        self.check(node, node.name)
        return self._plain(node)

    visit_TypeVar = visit_ParamSpec = visit_TypeVarTuple = _visit_type_parameter
    visit_TypeAlias = _plain

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
        for name in node.kwd_attrs:  # read without an attribute node
            self.check(node, name)
            if needs_guard(name) or name in SIGNALS:
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
            # Not `copy_locations`, which would go through all of the value, which has its own.
            target = ast.copy_location(ast.Name(RESULT_NAME, ast.Store()), last)
            keep = ast.Assign(targets=[target], value=last.value)
            node.body[-1] = ast.copy_location(keep, last)
        return node


def _docstring(node: FunctionNode) -> int:
    """How many statements stand before the first that may be anything: the docstring."""
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return 0
    return int(type(first.value.value) is str)


def _asks_type(node: ast.Call) -> bool:
    """Whether this is `type(x)` of a variable."""
    function = node.func
    by_name = isinstance(function, ast.Name) and function.id == "type"
    return by_name and [type(one) for one in node.args] == [ast.Name] and not node.keywords


def _looked_up_type(node: ast.Call) -> ast.expr:
    """`type(x)` without the call, as long as `type` is ours: code often asks in a loop."""
    kind = ast.Call(ast.Name(KIND_OF, ast.Load()), list(node.args), [])
    ours = ast.Compare(node.func, [ast.Is()], [ast.Name(SAFE_TYPE, ast.Load())])
    shown = ast.Subscript(ast.Name(SHOWN_TYPES, ast.Load()), kind, ast.Load())
    choice = ast.IfExp(test=ours, body=shown, orelse=node)
    copy_locations(choice, node)
    return choice
