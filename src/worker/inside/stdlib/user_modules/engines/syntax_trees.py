"""(4) Syntax trees for `ast` of user space: the classes of their nodes as source, and plain trees.

User code never gets a real node: our own compiler uses the real classes. A tree is passed as a list
of plain values, from which user space makes nodes of its own classes.
"""

from __future__ import annotations

import ast
from typing import Any

from caps.worker.inside.language.compiler import WithoutCollectionOrWarnings
from caps.worker.inside.stdlib.user_modules.engines.plain_values import plain_text

_MODES = ("exec", "eval", "single", "func_type")
_BASE = """\
class AST:
    _fields = ()
    _attributes = ()
    __match_args__ = ()

    def __init__(self, *args, **kwargs):
        if len(args) > len(self._fields):
            most = len(self._fields)
            count = f"at most {most} positional argument{'s' * (most != 1)}"
            raise TypeError(f"{type(self).__name__} constructor takes {count}")
        for name, value in zip(self._fields, args):
            if name in kwargs:
                raise TypeError(f"{type(self).__name__} got multiple values for argument {name!r}")
            setattr(self, name, value)
        for name, value in kwargs.items():
            setattr(self, name, value)
        for name in self._fields:
            if not hasattr(self, name) and name in self._defaults:
                setattr(self, name, [] if self._defaults[name] == "*" else None)

    _defaults = {}

"""
_TAIL = """\
PyCF_ONLY_AST = 1024
PyCF_TYPE_COMMENTS = 4096

def parse(
    source, filename="<unknown>", mode="exec", *,
    type_comments=False, feature_version=None, optimize=-1,
):
    if isinstance(source, AST):
        return source
    return build_tree(parse_source(source, filename, mode, type_comments), NODE_CLASSES)

def literal_eval(node_or_string):
    if not isinstance(node_or_string, str):
        node_or_string = unparse(node_or_string)
    return literal_value(node_or_string)

"""


def node_classes_source() -> str:
    """The source of classes like those of this interpreter's nodes, and of `parse`."""
    kinds = [kind for kind in _all_kinds(ast.AST) if kind.__module__ in ("ast", "_ast")]
    parts = [_class_source(kind) for kind in kinds]
    table = ", ".join(f'"{kind.__name__}": {kind.__name__}' for kind in kinds)
    return "".join([_BASE, *parts, f"NODE_CLASSES = {{{table}}}\n", _TAIL])


def node_names() -> list[str]:
    """The names of all classes of nodes."""
    return ["AST", *(kind.__name__ for kind in _all_kinds(ast.AST))]


def _all_kinds(base: type[ast.AST]) -> list[type[ast.AST]]:
    found: dict[type[ast.AST], None] = {}
    for kind in base.__subclasses__():
        # `ast` itself has deprecated classes such as `Num`, which derive from a node with fields.
        if kind.__module__ == "ast" and not base._fields and hasattr(ast, kind.__name__):
            found[kind] = None
            found |= dict.fromkeys(_all_kinds(kind))
    return list(found)


def _class_source(kind: type[ast.AST]) -> str:
    grammar = kind.__doc__ or ""
    # `FunctionDef(identifier name, expr* decorator_list, expr? returns)`
    listed = grammar.partition("(")[2].rpartition(")")[0].split(",") if "(" in grammar else []
    marks = {part.split()[-1]: part.split()[0][-1] for part in listed if part.split()}
    defaults = {name: marks[name] for name in kind._fields if marks.get(name) in ("*", "?")}
    return (
        f"class {kind.__name__}({kind.__bases__[0].__name__}):\n"
        f"    _fields = __match_args__ = {kind._fields!r}\n"
        f"    _attributes = {kind._attributes!r}\n"
        f"    _defaults = {defaults!r}\n"
        f"    {_attribute_defaults(kind)}\n\n"
    )


def _attribute_defaults(kind: type[ast.AST]) -> str:
    names = [
        name
        for name in (*kind._fields, *kind._attributes)
        if name in vars(kind) and vars(kind)[name] is None
    ]
    return "; ".join(f"{name} = None" for name in names) or "pass"


def parse_source(
    source: Any, filename: Any, mode: Any, type_comments: Any
) -> list[tuple[str, dict[str, Any]]]:
    """The syntax tree of `source`, flat: each node is its class and attributes.

    An attribute is `("value", constant)`, `("node", position)` or `("list", [attribute, …])`. A
    node stands before its children; the first one is the root.
    """
    text: Any = source if type(source) is bytes else plain_text(source)
    plain_mode = plain_text(mode)
    if plain_mode not in _MODES:
        raise ValueError(f"compile() mode must be one of {', '.join(map(repr, _MODES))}")
    flags = ast.PyCF_ONLY_AST | (ast.PyCF_TYPE_COMMENTS if type_comments else 0)
    with WithoutCollectionOrWarnings():
        tree = compile(text, plain_text(filename), plain_mode, flags, dont_inherit=True)
    return _flatten(tree)


def _flatten(tree: ast.AST) -> list[tuple[str, dict[str, Any]]]:
    flat: list[tuple[str, dict[str, Any]]] = []
    waiting: list[ast.AST] = [tree]

    def encoded(value: Any) -> tuple[str, Any]:
        if isinstance(value, list):
            return ("list", [encoded(item) for item in value])
        if isinstance(value, ast.AST):
            waiting.append(value)
            return ("node", len(waiting) - 1)
        return ("value", value)

    while len(flat) < len(waiting):
        node = waiting[len(flat)]
        names = (*node._fields, *node._attributes)
        found = {name: encoded(getattr(node, name)) for name in names if hasattr(node, name)}
        flat.append((type(node).__name__, found))
    return flat
