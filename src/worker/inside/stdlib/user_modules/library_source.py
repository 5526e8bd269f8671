"""(4) The source of a module of the library, without the parts that cannot run in user space.

Leaving something out is not a matter of safety: the rest is checked and guarded like user code.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Container, Iterator
from pathlib import Path

from caps.worker.inside.stdlib.user_modules.engines.syntax_trees import node_classes_source
from caps.worker.inside.stdlib.user_modules.table import KEPT, LEFT_OUT

_PACKAGE = __package__
# Methods that no class may define in user space; the modules work without them.
_METHODS = frozenset({"__deepcopy__", "__del__", "__getstate__", "__reduce__", "__setstate__"})

# What stands in the place of imports that cannot work in user space.
_BEFORE = {
    "ast": f"""\
import re, sys
from contextlib import contextmanager, nullcontext
from enum import IntEnum, auto
from {_PACKAGE}.engines.syntax_trees import parse_source
from {_PACKAGE}.native import literal_eval as literal_value
from {_PACKAGE}.sources.ast_tree_ import build_tree

class Str:  # a class of nodes before Python 3.8
    pass

""",
    "xml.etree.ElementTree": f"""\
from xml.etree.ElementPath import find, findall, findtext, iterfind
from {_PACKAGE}.sources.xml_parser_ import ParseError, TargetParser

class ElementPath:
    find, findall = staticmethod(find), staticmethod(findall)
    findtext, iterfind = staticmethod(findtext), staticmethod(iterfind)
""",
}
_AFTER = {
    "xml.etree.ElementTree": """
_Element_Py = Element

class XMLParser(TargetParser):
    def __init__(self, *, target=None, encoding=None):
        super().__init__(target=TreeBuilder() if target is None else target, encoding=encoding)
""",
}
_REWRITTEN: dict[str, tuple[tuple[str, str], ...]] = {
    # How the program was started: from Python 3.14 on, for the name in the help text.
    "argparse": (("_sys.modules['__main__'].__spec__", "None"),),
    # The library makes these enums in a way that is private to `enum`.
    "ast": (("@_simple_enum(IntEnum)\nclass _Precedence:", "class _Precedence(IntEnum):"),),
    "http": (
        (", _simple_enum", ""),
        ("@_simple_enum(IntEnum)\nclass HTTPStatus:", "class HTTPStatus(IntEnum):"),
        ("@_simple_enum(StrEnum)\nclass HTTPMethod:", "class HTTPMethod(StrEnum):"),
    ),
}


def read_library_source(name: str) -> bytes:
    """The source as it is. Called at start-up: a worker cannot read files."""
    top, *inner = name.split(".")
    # Of the first part only: the search for a submodule would import the packages above it.
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"`{name}` is missing in this Python", name=name)
    origin = Path(spec.origin)
    file = origin.parent.joinpath(*inner).with_suffix(".py") if inner else origin
    # The block at the end is for the module as a command. It would run: see `UserModules.load`.
    source = file.read_bytes().partition(b"\nif __name__ ==")[0]
    if name == "ast" and importlib.util.find_spec("_ast_unparse") is not None:
        # From Python 3.14 on, this part of `ast` is a module of its own.
        return source + b"\n" + read_library_source("_ast_unparse") + b"\n_Unparser = Unparser\n"
    return source


def cut_library_source(name: str, source: str) -> str:
    """`source` of the module `name` as it runs in user space."""
    text = source
    for old, new in _REWRITTEN.get(name, ()):
        text = text.replace(old, new)
    if name not in KEPT and name not in LEFT_OUT:
        return text
    lines = text.splitlines(keepends=True)
    for statement in _unwanted(name, ast.parse(text)):
        decorators = getattr(statement, "decorator_list", ())
        first = min([statement.lineno, *(one.lineno for one in decorators)])
        last = statement.end_lineno or first
        lines[first - 1 : last] = [f"{' ' * statement.col_offset}pass\n"] * (last - first + 1)
    before = _BEFORE.get(name, "") + (node_classes_source() if name == "ast" else "")
    return "".join([before, *lines, _AFTER.get(name, "")])


def _unwanted(name: str, tree: ast.Module) -> Iterator[ast.stmt]:
    kept, left_out = KEPT.get(name, "").split(), LEFT_OUT.get(name, "").split()
    for statement in tree.body:
        names = set(_names(statement))
        if not names.isdisjoint(left_out) or (kept and names.isdisjoint(kept)):
            yield statement
        else:
            yield from _unwanted_methods(statement, left_out)


def _unwanted_methods(statement: ast.stmt, left_out: Container[str]) -> Iterator[ast.stmt]:
    for owner in ast.walk(statement):
        for member in owner.body if isinstance(owner, ast.ClassDef) else ():
            called = getattr(member, "name", "")
            if called in _METHODS or f"{getattr(owner, 'name', '')}.{called}" in left_out:
                yield member


def _names(statement: ast.stmt) -> Iterator[str]:
    """What a statement at the top of a module defines or sets, or which modules it imports."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (alias.name for alias in node.names if node.level)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
