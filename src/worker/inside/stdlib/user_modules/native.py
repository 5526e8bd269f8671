"""(4) Facades that only the modules in user space can import: what they need of other modules.

A function here is called by code with the powers of user space. So it takes and returns plain
values only.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import stat
import sys
from collections import namedtuple
from types import FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

from caps.worker.inside.facades.facade import Facade, make_facade
from caps.worker.inside.language.compiler import parse_expression
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.language.opaque_types import shown_type
from caps.worker.inside.language.private_attributes import OWN_GUARD
from caps.worker.inside.language.reflection import is_users_function
from caps.worker.inside.stdlib.user_modules.engines import sqlite_engine
from caps.worker.inside.stdlib.user_modules.engines.syntax_trees import parse_source
from caps.worker.inside.stdlib.user_modules.engines.weak_references import weak_reference_maker
from caps.worker.inside.stdlib.user_modules.engines.xml_events import XMLEvents
from caps.worker.inside.stdlib.user_modules.table import HIDDEN_MODULES, USER_MODULES

_FILES = frozenset(f"<{name}>" for name in (*USER_MODULES, *HIDDEN_MODULES))


class _TerminalSize(NamedTuple):
    columns: int
    lines: int


def get_terminal_size(fallback: Any = None) -> _TerminalSize:
    """`shutil.get_terminal_size` where there is no terminal."""
    del fallback
    return _TerminalSize(80, 24)


def gettext(message: Any) -> Any:
    """`gettext.gettext` without translations."""
    return message


def ngettext(one: Any, many: Any, n: Any) -> Any:
    """`gettext.ngettext` without translations."""
    return one if n == 1 else many


def can_colorize(**_options: Any) -> bool:
    """`_colorize.can_colorize` where there is no terminal."""
    return False


def decolor(text: Any) -> Any:
    """`_colorize.decolor` of text that has no colors."""
    return text


class _Theme(NamedTuple):
    argparse: Any


def get_theme(**_options: Any) -> _Theme:
    """`_colorize.get_theme` without colors."""
    return _Theme(_plain_section())


@functools.cache
def _plain_section() -> Any:
    """The colors of `argparse`, all of them empty. Python 3.14 has them, and newer ones."""
    colors: Any = importlib.import_module("_colorize").Argparse
    names = [field.name for field in dataclasses.fields(colors)]
    return namedtuple("Argparse", names)(*[""] * len(names))


def find_caller(level: int) -> tuple[str, int, str]:
    """The file, line and function of the program's own code that is `level` calls up."""
    frame: FrameType | None = sys._getframe(1)
    remaining, place = int(level), ("<agent>", 0, "<module>")
    while frame is not None and remaining > 0:
        code = frame.f_code
        if OWN_GUARD in frame.f_builtins and code.co_filename not in _FILES:
            remaining, place = remaining - 1, (code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return place


def literal_eval(node_or_string: Any) -> Any:
    """`ast.literal_eval` of text; nothing is executed."""
    if not isinstance(node_or_string, str):
        raise TypeError(f"text was due, not a `{type(node_or_string).__name__}`")
    tree = parse_expression(str.__str__(node_or_string).lstrip(" \t"))
    return ast.literal_eval(tree)


def cleandoc(doc: Any) -> str:
    """`inspect.cleandoc`."""
    if not isinstance(doc, str):
        raise TypeError(f"text was due, not a `{type(doc).__name__}`")
    return inspect.cleandoc(str.__str__(doc))


def signature_parts(value: Any) -> tuple[list[tuple[Any, ...]], tuple[bool, Any]]:
    """The parameters of a function, method or class of the user's, and what it returns.

    A parameter is its name, its kind, and whether it has a default and an annotation, and which.
    """
    function, skipped = _function_of(value)
    found = inspect.signature(function)
    empty = inspect.Parameter.empty
    parts = [
        (
            one.name,
            int(one.kind),
            one.default is not empty,
            one.default if one.default is not empty else None,
            one.annotation is not empty,
            _shown(one.annotation) if one.annotation is not empty else None,
        )
        for one in list(found.parameters.values())[skipped:]
    ]
    returned = found.return_annotation
    has_return = returned is not inspect.Signature.empty and not isinstance(value, type)
    return parts, (has_return, _shown(returned) if has_return else None)


def _function_of(value: Any) -> tuple[Any, int]:
    """The function that a call of `value` runs, and how many arguments it gets by itself."""
    if type(value) is MethodType and is_users_function(value.__func__):
        return value.__func__, 1
    if is_users_function(value):
        return value, 0
    if type(value) is functools.partial and is_users_function(value.func):
        return value, 0
    for kind in inspect.getmro(value) if isinstance(value, type) else ():
        function = vars(kind).get("__init__")
        if is_users_function(function) or _is_generated(kind, function):
            return function, 1
        if function is object.__init__:
            return lambda: None, 0
        if function is not None:
            break
    call = inspect.getattr_static(type(value), "__call__", None)
    if is_users_function(call):
        return call, 1
    raise ValueError(f"no signature found for {value!r:.80}; it is not a function of your own")


def _is_generated(kind: type, function: Any) -> bool:
    """Whether `dataclass` has made this function; no function in a file has its file name."""
    if type(function) is not FunctionType or "__dataclass_fields__" not in vars(kind):
        return False
    generated: FunctionType = inspect.unwrap(function)
    return generated.__code__.co_filename == "<string>"


def _shown(annotation: Any) -> Any:
    return shown_type(annotation) if isinstance(annotation, type) else annotation


_PREDICATES = (
    inspect.isabstract,
    inspect.isasyncgenfunction,
    inspect.isawaitable,
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
)
isabstract, isasyncgenfunction, isawaitable, iscoroutinefunction, isgeneratorfunction = _PREDICATES
_OURS = (find_caller, literal_eval, cleandoc, signature_parts, *_PREDICATES)


_MODES_OF_FILES = (stat.S_ISDIR, stat.S_ISREG, stat.filemode)


def _engine(name: str) -> str:
    return f"{__package__}.engines.{name}"


WEAK_REFERENCES = _engine("weak_references")


def weak_reference_facade(own: OwnClasses) -> Facade:
    """The hidden facade for `weakref` of one execution, `WEAK_REFERENCES`."""
    return make_facade(WEAK_REFERENCES, {"make_weak_reference": weak_reference_maker(own)})


@functools.cache
def native_facades() -> dict[str, Facade]:
    """The hidden facades, by the name under which the modules import them."""
    if sys.version_info >= (3, 14):
        _plain_section()  # a worker can import nothing
    database = {name: getattr(sqlite_engine, name) for name in sqlite_engine.__all__}
    return {
        _engine("sqlite_engine"): make_facade("sqlite_engine", database),
        _engine("syntax_trees"): make_facade("syntax_trees", {"parse_source": parse_source}),
        _engine("xml_events"): make_facade("xml_events", {"XMLEvents": XMLEvents}),
        __name__: make_facade(__name__, {one.__name__: one for one in _OURS}),
        "_colorize": make_facade(
            "_colorize", {one.__name__: one for one in (can_colorize, decolor, get_theme)}
        ),
        "gettext": make_facade("gettext", {"gettext": gettext, "ngettext": ngettext}),
        "shutil": make_facade("shutil", {"get_terminal_size": get_terminal_size}),
        "stat": make_facade("stat", {one.__name__: one for one in _MODES_OF_FILES}),
    }
