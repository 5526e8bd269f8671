"""(4) Emits the checks of private attributes (`x._own`), as few as possible.

Whether a private attribute is the user's depends on the class of the object, which cannot change:
`__class__` cannot be assigned, and `stdlib.copying` refuses to write it.
So a check of the class is enough, and it stays valid as long as a variable keeps its object:

    self._x, in a method    one check at the start of the method, if nothing there rebinds `self`
    x._x, elsewhere         (x if <kind>(x) in <clean> else <own>(x, "_x"))._x
    f()._x                  <own>(f(), "_x")._x

`<clean>` holds the user's classes that inherit no private name from a library class.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from RestrictedPython.transformer import copy_locations

OWN_GUARD = "<own>"
OWNED_GUARD = "<owned>"
CLEAN_CLASSES = "<clean>"
KIND_OF = "<kind>"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

# Whether garbage collection may run after the call of `<kind>`: it may close a generator, which
# runs user code, and this code could rebind the variable between the check and the use.
_GC_MAY_RUN_AFTER_CALL = sys.version_info >= (3, 12)

# The first parameter of a method. A function that uses another name may be static.
_SELF_NAMES = ("self", "cls")


def guarded(guard: str, value: ast.expr, node: ast.expr, *names: str) -> ast.Call:
    """The call `guard(value, *names)`, located at `node`."""
    arguments = [value, *(ast.Constant(name) for name in names)]
    call = ast.Call(func=ast.Name(guard, ast.Load()), args=arguments, keywords=[])
    copy_locations(call, node)
    return call


def emit_own_check(value: ast.expr, node: ast.expr, name: str) -> ast.expr:
    """An expression that gives `value`, or raises if its private `name` is not the user's."""
    check = guarded(OWN_GUARD, value, node, name)
    if not isinstance(value, ast.Name) or _GC_MAY_RUN_AFTER_CALL:
        return check
    variable = ast.Name(value.id, ast.Load())
    choice = ast.IfExp(test=_is_clean(value.id, ast.In()), body=variable, orelse=check)
    copy_locations(choice, node)
    return choice


def _is_clean(variable: str, operator: ast.cmpop) -> ast.expr:
    kind = ast.Call(ast.Name(KIND_OF, ast.Load()), [ast.Name(variable, ast.Load())], [])
    return ast.Compare(kind, [operator], [ast.Name(CLEAN_CLASSES, ast.Load())])


class EntryCheck:
    """The private attributes that a check at the start of a method has to cover.

    Whether the method rebinds its parameter `self` or `cls` is looked up when the first such
    attribute is met: most methods have none. The guards that were added until then bind no names.
    """

    __slots__ = ("_attributes", "_is_stable", "_method", "variable")

    def __init__(self, method: FunctionNode, variable: str) -> None:
        self.variable = variable
        self._method = method
        self._is_stable: bool | None = None
        self._attributes: dict[str, ast.expr] = {}

    def covers(self, name: str, node: ast.expr) -> bool:
        """Whether the check covers the attribute `name`, which is used at `node`."""
        if self._is_stable is None:
            self._is_stable = list(_bound_names(self._method)).count(self.variable) == 1
        if self._is_stable:
            self._attributes.setdefault(name, node)
        return self._is_stable

    def emit(self) -> list[ast.stmt]:
        """A statement that raises unless all these attributes are the user's; none without any."""
        if not self._attributes:
            return []
        place = next(iter(self._attributes.values()))
        value = ast.Name(self.variable, ast.Load())
        check = ast.Expr(guarded(OWNED_GUARD, value, place, *self._attributes))
        statement = ast.If(test=_is_clean(self.variable, ast.NotIn()), body=[check], orelse=[])
        copy_locations(check, place)
        copy_locations(statement, place)
        return [statement]


def entry_check(method: FunctionNode) -> EntryCheck | None:
    """The check for the first parameter of `method`, if it is `self` or `cls`."""
    parameters = method.args.posonlyargs or method.args.args
    if not parameters or parameters[0].arg not in _SELF_NAMES:
        return None
    return EntryCheck(method, parameters[0].arg)


def _bound_names(function: FunctionNode) -> Iterator[str | None]:
    """Every name that is bound anywhere in `function`, including its parameters."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.MatchMapping):
            yield node.rest
        else:
            # Definitions, handlers, captures, type parameters: they bind a `name` that is a string.
            yield getattr(node, "name", None)
