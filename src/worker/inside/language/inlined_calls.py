"""(4) Calls that need no guard. Those of builtins need none while their name is not rebound:

type(x)             ->  <shown>[<kind>(x)] if type is <safe type> else type(x)
super().__init__    ->  super().__init__ if super is <super> else <read>(super(), "__init__")
"{}".format(x)      ->  "{}".format(x)
"""

from __future__ import annotations

import ast

from RestrictedPython.transformer import copy_locations

from caps.worker.inside.language.format_strings import is_plain_template
from caps.worker.inside.language.identifiers import FORMATTERS
from caps.worker.inside.language.private_attributes import KIND_OF

SAFE_SUPER = "<super>"
SAFE_TYPE = "<safe type>"
SHOWN_TYPES = "<shown>"


def is_type_call(node: ast.Call) -> bool:
    """Whether `node` is `type(x)` with a variable `x`."""
    function = node.func
    if not isinstance(function, ast.Name) or function.id != "type":
        return False
    return [type(one) for one in node.args] == [ast.Name] and not node.keywords


def is_plain_format(function: ast.expr) -> bool:
    """Whether it is a format of a literal template, and none of its fields reads an attribute."""
    return (
        isinstance(function, ast.Attribute)
        and function.attr in FORMATTERS
        and isinstance(function.value, ast.Constant)
        and type(function.value.value) is str
        and is_plain_template(function.value.value)
    )


def is_super_init(node: ast.Attribute) -> bool:
    """Whether `node` is `super().__init__`."""
    call = node.value
    if node.attr != "__init__" or not isinstance(call, ast.Call) or call.args or call.keywords:
        return False
    return isinstance(call.func, ast.Name) and call.func.id == "super"


def inline_super_init(node: ast.Attribute, read: ast.expr) -> ast.expr:
    """`super().__init__` without a guard while `super` is not rebound: most subclasses call it."""
    name = ast.Name("super", ast.Load())
    is_unchanged = ast.Compare(name, [ast.Is()], [ast.Name(SAFE_SUPER, ast.Load())])
    choice = ast.IfExp(test=is_unchanged, body=node, orelse=read)
    copy_locations(choice, node)
    return choice


def inline_type_call(node: ast.Call) -> ast.expr:
    """`type(x)` as a look-up while `type` is not rebound: code often calls it in a loop."""
    kind = ast.Call(ast.Name(KIND_OF, ast.Load()), list(node.args), [])
    is_unchanged = ast.Compare(node.func, [ast.Is()], [ast.Name(SAFE_TYPE, ast.Load())])
    shown = ast.Subscript(ast.Name(SHOWN_TYPES, ast.Load()), kind, ast.Load())
    choice = ast.IfExp(test=is_unchanged, body=shown, orelse=node)
    copy_locations(choice, node)
    return choice
