"""(4) The builtins of user space: a dictionary that is built for each execution.

Left out on purpose: `open`, `compile`, `input`, `breakpoint`, `help`. `eval`, `exec`, `globals` and
`locals` are added by `eval_exec`. The guards are stored here too. Their names are not valid
identifiers, so no global variable of user code can shadow them.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from typing import Any

from caps.protocol.errors import USER_ERRORS
from caps.worker.inside.channel.output import CurrentStream, make_print
from caps.worker.inside.errors.hints import add_hint
from caps.worker.inside.language.class_rules import freeze_class_data
from caps.worker.inside.language.guards import (
    AttributeGuards,
    OwnClasses,
    check_exception_group,
)
from caps.worker.inside.language.inlined_calls import SAFE_SUPER, SAFE_TYPE, SHOWN_TYPES
from caps.worker.inside.language.opaque_types import SHOWN_TYPES as SHOWN
from caps.worker.inside.language.opaque_types import safe_type, type_of
from caps.worker.inside.language.private_attributes import (
    CLEAN_CLASSES,
    KIND_OF,
    OWN_GUARD,
    OWNED_GUARD,
)
from caps.worker.inside.language.special_methods import Hooks
from caps.worker.inside.language.transformer import (
    CAUGHT_GUARD,
    CHANGE_GUARD,
    FREEZE_GUARD,
    HOOK_GUARD,
    INHERITED_GUARD,
    READ_GUARD,
    STAR_GUARD,
    TYPE_GUARD,
    WRITE_GUARD,
)

_UNCHANGED = (
    "Ellipsis False None NotImplemented True abs aiter all anext any ascii bin bool bytearray "
    "bytes callable chr classmethod complex dict divmod enumerate filter float format "
    "frozenset hash hex id int isinstance issubclass len list map max memoryview min "
    "next object oct ord pow property range repr reversed round set slice sorted staticmethod "
    "str sum super tuple zip "
).split()


def iter(value: Any, /, *sentinel: Any) -> Iterator[Any]:  # noqa: A001 - the name that users see
    """`iter`. The iterator that calls a function is a generator: it cannot be re-entered."""
    if len(sentinel) != 1:
        return builtins.iter(value, *sentinel)
    if not callable(value):
        raise TypeError("iter(v, w): v must be callable")
    return _call_until(value, sentinel[0])


def _call_until(function: Callable[[], Any], sentinel: Any) -> Iterator[Any]:
    while True:
        try:
            value = function()
        except StopIteration:
            return
        if sentinel is value or sentinel == value:
            return
        yield value


def _exceptions() -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }


def make_builtins(
    stdout: CurrentStream, importer: Callable[..., Any], own: OwnClasses
) -> dict[str, Any]:
    """Build the builtins of one execution; `print` writes to `stdout`."""
    guards = AttributeGuards(own)
    hooks = Hooks(own, guards)
    return {
        **{name: getattr(builtins, name) for name in _UNCHANGED},
        **_exceptions(),
        **{error.__name__: error for error in USER_ERRORS},
        "__build_class__": own.build_class,
        "__debug__": True,
        "__import__": importer,
        "__name__": "builtins",
        "delattr": guards.delattr,
        "dir": guards.dir,
        "exit": sys.exit,
        "getattr": guards.getattr,
        "hasattr": guards.hasattr,
        "iter": iter,
        "print": make_print(stdout),
        "quit": sys.exit,
        "setattr": guards.setattr,
        "type": safe_type,
        "vars": guards.vars,
        CAUGHT_GUARD: add_hint,
        CHANGE_GUARD: guards.check_augmented,
        CLEAN_CLASSES: own.clean,
        FREEZE_GUARD: freeze_class_data,
        HOOK_GUARD: hooks.define,
        INHERITED_GUARD: hooks.inherited,
        KIND_OF: type,
        OWNED_GUARD: own.check_all_private,
        OWN_GUARD: own.check_private,
        READ_GUARD: guards.reflection.read,
        SAFE_SUPER: super,
        SAFE_TYPE: safe_type,
        SHOWN_TYPES: SHOWN,
        STAR_GUARD: check_exception_group,
        TYPE_GUARD: type_of,
        WRITE_GUARD: hooks.writer,
    }
