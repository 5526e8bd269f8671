"""(4) Checks and rewrites the syntax tree: RestrictedPython's transformer with our own rules.

We keep its structure: every type of node has a visitor, and a node without one is refused, so that
new syntax is never allowed before it has been reviewed. We do not use its guards: attributes with
harmless names, items, iteration and calls run as plain bytecode. A guard is emitted only where the
name alone does not decide, under a name that is not a valid identifier:

    x._own              ->  <own>(x, "_own")._own     only the user's own objects have private
                                                      attributes; `private_attributes` says where
                                                      one check covers several uses, and
                                                      `known_private_names` where none is needed
    x.format, x.obj     ->  <read>(x, "format")       see `reflection`
    x.obj += y          ->  <change>(x, "obj").obj += y
    x.__class__         ->  <type>(x)                 like `type(x)`: never the real metaclass
    type(x)             ->  <shown>[<kind>(x)]        if `type` is not rebound
    x.__init__          ->  <read>(x, "__init__")     but `super().__init__` in an `__init__`, if
                                                      `super` is not rebound
    x.__name__ = y      ->  <write>(x).__name__ = y   see `special_methods`; also the next two
    x.__setattr__       ->  <inherited>(x, "__setattr__")
    def __getattr__     ->  @<hook>("__getattr__") def __getattr__
    except* E           ->  except* <star>(E)         only groups that do not override `split`
    __slots__ = y       ->  <freeze>() at the end of the class body, see `class_rules`
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from RestrictedPython.transformer import copy_locations

from caps.worker.inside.language.identifiers import (
    ASSIGNABLE_IN_CLASS,
    DEFINABLE,
    FROZEN_IN_CLASS,
    GUARDED_READS,
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
from caps.worker.inside.language.inlined_calls import (
    inline_super_init,
    inline_type_call,
    is_plain_format,
    is_super_init,
    is_type_call,
)
from caps.worker.inside.language.known_private_names import is_unused_name
from caps.worker.inside.language.private_attributes import (
    EntryCheck,
    FunctionNode,
    emit_own_check,
    entry_check,
    guarded,
)
from caps.worker.inside.language.visitor import CachedVisitor

CAUGHT_GUARD = "<caught>"
CHANGE_GUARD = "<change>"
FREEZE_GUARD = "<freeze>"
HOOK_GUARD = "<hook>"
INHERITED_GUARD = "<inherited>"
STAR_GUARD = "<star>"
READ_GUARD = "<read>"
TYPE_GUARD = "<type>"
WRITE_GUARD = "<write>"
RESULT_NAME = "<result>"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One construct in the source that is not allowed, and where it is."""

    message: str
    line: int
    column: int
    end_column: int | None


class Transformer(CachedVisitor):
    """Checks every identifier and emits the guards."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[Refusal] = []
        self._in_class = False
        self._in_function = False
        # Whether the innermost function is an `__init__` of a class.
        self._in_init = False
        self._class_name: str | None = None
        # Whether the class body that is being visited assigns one of `FROZEN_IN_CLASS`.
        self._assigns_frozen = False
        # By variable: those that may be checked at the start of their function.
        self._entry_checks: dict[str, EntryCheck] = {}
        # Every private attribute that the source uses.
        self.private_names: set[str] = set()
        # Those that only the user's own code uses: see `known_private_names`.
        self.unguarded: set[str] = set()

    # -- recording refusals ---------------------------------------------------------------------

    def refuse(self, node: ast.AST, message: str) -> None:
        line = getattr(node, "lineno", 1)
        same_line = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", None) if same_line else None
        column = getattr(node, "col_offset", 0)
        self.refusals.append(Refusal(message, line, column, end))

    def error(self, node: ast.AST, info: str) -> None:
        """Called by the base class for a problem that it finds."""
        self.refuse(node, info)

    def not_allowed(self, node: ast.AST) -> None:
        self.refuse(node, f"`{type(node).__name__}` is not supported")

    def check(self, node: ast.AST, name: str | None) -> None:
        if name is None or "_" not in name:
            return  # as most names; all that are refused have one
        message = refusal(name)
        if message is not None:
            self.refuse(node, message)

    # -- nodes that only need their contents visited --------------------------------------------

    _visit_contents = CachedVisitor.node_contents_visit

    visit_AnnAssign = visit_Assign = visit_AsyncFor = visit_AsyncWith = _visit_contents
    visit_Await = visit_DictComp = visit_For = visit_GeneratorExp = visit_Lambda = _visit_contents
    visit_ListComp = visit_SetComp = visit_Subscript = visit_With = _visit_contents
    visit_arguments = visit_comprehension = visit_match_case = _visit_contents
    visit_Match = visit_MatchOr = visit_MatchSequence = visit_MatchSingleton = _visit_contents
    visit_MatchValue = _visit_contents

    # The same as in the base class, without its method in between.
    visit_Assert = visit_BinOp = visit_BoolOp = visit_Break = visit_Compare = _visit_contents
    visit_Continue = visit_Delete = visit_Dict = visit_Expr = visit_FormattedValue = _visit_contents
    visit_If = visit_IfExp = visit_JoinedStr = visit_List = visit_Pass = _visit_contents
    visit_Raise = visit_Return = visit_Set = visit_Slice = visit_Starred = _visit_contents
    visit_Try = visit_Tuple = visit_UnaryOp = visit_While = visit_withitem = _visit_contents
    visit_Yield = visit_YieldFrom = _visit_contents

    visit_Constant: Any = None  # it has no children to check, so it needs no visit

    # -- names ----------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> Any:
        if "_" not in node.id:
            return node  # as in `check`
        message = refusal(node.id)
        if message is not None and not self._is_allowed_variable(node):
            self.refuse(node, message)
        return node

    def _is_allowed_variable(self, node: ast.Name) -> bool:
        """Whether a variable may have this name although `refusal` refuses it."""
        if isinstance(node.ctx, ast.Load):
            return node.id in READABLE_VARIABLES or node.id in OPERATIONS
        if self._in_class and node.id in FROZEN_IN_CLASS:
            self._assigns_frozen = True
        # In a function, an operation is for a decorator to add to a class, as in `_visit_function`.
        fits = ASSIGNABLE_IN_CLASS if self._in_class else OPERATIONS if self._in_function else ()
        return node.id in VARIABLES or node.id in fits

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
        return node if node.annotation is None else self._visit_contents(node)

    def visit_keyword(self, node: ast.keyword) -> Any:
        self.check(node, node.arg)
        return self._visit_contents(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.check(node, node.name)
        handler = self._visit_contents(node)
        if node.name is not None:  # so that the code sees the hint, too, if it prints the error
            first = handler.body[0]
            value = ast.copy_location(ast.Name(node.name, ast.Load()), first)
            call = guarded(CAUGHT_GUARD, value, value)
            handler.body.insert(0, ast.copy_location(ast.Expr(call), first))
        return handler

    # -- attributes and calls -------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = node.value
        if isinstance(value, ast.Name):
            self.visit_Name(value)
        else:
            node.value = value = self.visit(value)
        name = node.attr
        if "_" not in name and name not in GUARDED_READS:
            return node  # no rule is about such a name
        if isinstance(node.ctx, ast.Load):
            return self._read(node, value, name)
        if isinstance(node.ctx, ast.Store) and name in WRITABLE:
            node.value = guarded(WRITE_GUARD, value, node)
            return node
        self.check(node, name)
        node.value = self._guard_private(value, node) if is_private(name) else value
        return node

    def _read(self, node: ast.Attribute, value: ast.expr, name: str) -> Any:
        if name == "__class__":
            return guarded(TYPE_GUARD, value, node)
        if name in GUARDED_READS:
            read = guarded(READ_GUARD, value, node, name)
            return inline_super_init(node, read) if self._in_init and is_super_init(node) else read
        if name in HOOKS:
            return guarded(INHERITED_GUARD, value, node, name)
        if name not in READABLE:
            self.check(node, name)
        node.value = self._guard_private(value, node) if is_private(name) else value
        return node

    def _guard_private(self, value: ast.expr, node: ast.Attribute) -> ast.expr:
        """`value`, with a check that its private attribute is the user's, where one is needed."""
        name = mangled(node.attr, self._class_name)
        self.private_names.add(name)
        if is_unused_name(name):
            self.unguarded.add(name)
            return value
        if isinstance(value, ast.Name):
            check = self._entry_checks.get(value.id)
            if check is not None and check.covers(name, node):
                return value
        return emit_own_check(value, node, name)

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Name):
            self.visit_Name(function)
        elif not is_plain_format(function):
            node.func = self.visit(function)
        if node.args:
            self.visit_all(node.args)
        if node.keywords:
            self.visit_all(node.keywords)
        return inline_type_call(node) if is_type_call(node) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if isinstance(target, ast.Attribute) and target.attr in WRITABLE:
            self.refuse(node, f"`{target.attr}` can only be assigned")
        node = self._visit_contents(node)
        if isinstance(target, ast.Attribute) and target.attr in GUARDED_READS:
            # The attribute is also read, and the operand on the right gets the value.
            target.value = guarded(CHANGE_GUARD, target.value, target, target.attr)
        return node

    def visit_TryStar(self, node: ast.AST) -> Any:
        node = self._visit_contents(node)
        for handler in getattr(node, "handlers", []):
            handler.type = guarded(STAR_GUARD, handler.type, handler.type)
        return node

    # -- definitions ----------------------------------------------------------------------------

    def _visit_function(self, node: FunctionNode) -> Any:
        # Outside of a class an operation is a plain function, for a decorator to add to a class.
        if node.name not in (DEFINABLE if self._in_class else OPERATIONS):
            self.check(node, node.name)
        # Decorators, defaults and annotations belong to the enclosing scope.
        self._visit_signature(node)
        saved = self._in_class, self._in_function, self._in_init, self._entry_checks
        check = entry_check(node) if self._in_class else None
        self._in_init = self._in_class and node.name == "__init__"
        self._in_class, self._in_function = False, True
        if check is not None:
            self._entry_checks = {**self._entry_checks, check.variable: check}
        try:
            self.visit_all(node.body)
            if check is not None and (statements := check.emit()):
                start = _docstring_length(node)
                node.body[start:start] = statements
        finally:
            self._in_class, self._in_function, self._in_init, self._entry_checks = saved
        if self._in_class and node.name in HOOKS:
            hook = ast.Call(ast.Name(HOOK_GUARD, ast.Load()), [ast.Constant(node.name)], [])
            copy_locations(hook, node)
            node.decorator_list.insert(0, hook)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def _visit_signature(self, node: FunctionNode) -> None:
        self.visit_all(node.decorator_list)
        self._visit_type_parameters(node)
        node.args = self.visit(node.args)
        if node.returns is not None:
            node.returns = self.visit(node.returns)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        self.check(node, node.name)
        if getattr(node, "type_params", []):
            self._refuse_mangled(node)
        for outside in (node.decorator_list, node.bases, node.keywords):
            self.visit_all(outside)
        self._visit_type_parameters(node)
        saved = self._in_class, self._class_name, self._assigns_frozen
        self._in_class, self._class_name, self._assigns_frozen = True, node.name, False
        try:
            self.visit_all(node.body)
            if self._assigns_frozen:
                freeze = ast.Expr(ast.Call(ast.Name(FREEZE_GUARD, ast.Load()), [], []))
                copy_locations(freeze, node)
                node.body.append(freeze)
        finally:
            self._in_class, self._class_name, self._assigns_frozen = saved
        return node

    def _refuse_mangled(self, node: ast.ClassDef) -> None:
        """Refuse `__name` in the head of a generic class: its mangling depends on the Python."""
        heads = [*node.bases, *node.keywords, *getattr(node, "type_params", [])]
        for part in heads:
            for inner in ast.walk(part):
                name = inner.attr if isinstance(inner, ast.Attribute) else None
                name = inner.id if isinstance(inner, ast.Name) else name
                if name is not None and name.startswith("__") and not name.endswith("__"):
                    self.refuse(inner, f"`{name}` in the head of a generic class")

    def _visit_type_parameters(self, node: ast.AST) -> None:
        if parameters := getattr(node, "type_params", None):
            self.visit_all(parameters)

    def _visit_type_parameter(self, node: Any) -> Any:
        self.check(node, node.name)
        return self._visit_contents(node)

    visit_TypeVar = visit_ParamSpec = visit_TypeVarTuple = _visit_type_parameter
    visit_TypeAlias = _visit_contents

    # -- patterns -------------------------------------------------------------------------------

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        self.check(node, node.name)
        return self._visit_contents(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        self.check(node, node.name)
        return self._visit_contents(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        self.check(node, node.rest)
        return self._visit_contents(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        for name in node.kwd_attrs:  # read without an attribute node
            self.check(node, name)
            if needs_guard(name) or name in SIGNALS:
                self.refuse(node, f"a pattern cannot read the attribute `{name}`")
        # A positional pattern reads the names in `__match_args__`, which OwnClasses keeps harmless.
        return self._visit_contents(node)

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
            if "_" in alias.name:
                self._check_imported(node, alias.name)
            self.check(node, alias.asname)
        return node

    def _check_imported(self, node: ast.Import | ast.ImportFrom, name: str) -> None:
        for part in name.split("."):
            self.check(node, part)
            if isinstance(node, ast.ImportFrom) and is_private(part):
                self.refuse(node, f"`{part}` is private to its module")

    def visit_Module(self, node: ast.Module) -> Any:
        node = self._visit_contents(node)
        if node.body and isinstance(node.body[-1], ast.Expr):
            last = node.body[-1]
            # Not `copy_locations`: it would walk the whole value, whose nodes have locations.
            target = ast.copy_location(ast.Name(RESULT_NAME, ast.Store()), last)
            keep = ast.Assign(targets=[target], value=last.value)
            node.body[-1] = ast.copy_location(keep, last)
        return node


def _docstring_length(node: FunctionNode) -> int:
    """The number of statements that the docstring takes: 0 or 1."""
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return 0
    return int(type(first.value.value) is str)
