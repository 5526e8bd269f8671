"""(4) Where `x._own` is checked: as seldom as it takes.

Whether a private attribute is the user's depends on the class of the object, which cannot change.
So a look at the class is enough, and one look lasts as long as a variable keeps its object:

    self._x, in a method    one check when the method is entered, if nothing there binds `self` anew
    x._x, elsewhere         (x if <kind>(x) in <clean> else <own>(x, "_x"))._x
    f()._x                  <own>(f(), "_x")._x

`<clean>` holds the user's classes that inherit no private name from a library's.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping

from RestrictedPython.transformer import copy_locations

OWN_GUARD = "<own>"
OWNED_GUARD = "<owned>"
CLEAN_CLASSES = "<clean>"
KIND_OF = "<kind>"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

# Whether garbage may be collected after the call of `<kind>`: the end of a generator is code of the
# user's, which could give the variable another object between two looks at it.
_COLLECTS_BETWEEN = sys.version_info >= (3, 12)

# What a method calls its object. A function with another name for it may be static.
_SELVES = ("self", "cls")


def guarded(guard: str, value: ast.expr, node: ast.expr, *names: str) -> ast.Call:
    """The call `guard(value, *names)` in the place of `node`."""
    arguments = [value, *(ast.Constant(name) for name in names)]
    call = ast.Call(func=ast.Name(guard, ast.Load()), args=arguments, keywords=[])
    copy_locations(call, node)
    return call


def own_value(value: ast.expr, node: ast.expr, name: str) -> ast.expr:
    """`value`, or an AttributeError if its private attribute `name` is not the user's."""
    check = guarded(OWN_GUARD, value, node, name)
    if not isinstance(value, ast.Name) or _COLLECTS_BETWEEN:
        return check
    variable = ast.Name(value.id, ast.Load())
    choice = ast.IfExp(test=_is_clean(value.id, ast.In()), body=variable, orelse=check)
    copy_locations(choice, node)
    return choice


def _is_clean(variable: str, operator: ast.cmpop) -> ast.expr:
    kind = ast.Call(ast.Name(KIND_OF, ast.Load()), [ast.Name(variable, ast.Load())], [])
    return ast.Compare(kind, [operator], [ast.Name(CLEAN_CLASSES, ast.Load())])


def settled_variable(function: FunctionNode) -> str | None:
    """The variable that holds a method's object from its first line to its last, if any does."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if not parameters or parameters[0].arg not in _SELVES:
        return None
    name = parameters[0].arg
    times = sum(1 for bound in _bound_names(function) if bound == name)
    return name if times == 1 else None


def entry_check(variable: str, attributes: Mapping[str, ast.expr]) -> ast.stmt:
    """A statement that raises unless all these private attributes are the user's."""
    place = next(iter(attributes.values()))
    value = ast.Name(variable, ast.Load())
    check = ast.Expr(guarded(OWNED_GUARD, value, place, *attributes))
    statement = ast.If(test=_is_clean(variable, ast.NotIn()), body=[check], orelse=[])
    copy_locations(check, place)
    copy_locations(statement, place)
    return statement


def _bound_names(function: FunctionNode) -> Iterator[str | None]:
    """Every name that anything within `function` binds, its parameters among them."""
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
            # Definitions, handlers, captures, type parameters: `name`, if it is text, is bound.
            yield getattr(node, "name", None)
