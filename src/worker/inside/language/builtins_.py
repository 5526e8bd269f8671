"""(4) The builtins of user space: a dictionary made for one execution, real names left out.

Missing on purpose: `open`, `compile`, `input`, `breakpoint`, `help`. `eval` and its kin come from
`evaluation`. The guards live here too, under names that no source can spell, so that no global of
the user's can stand before them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from caps.protocol.errors import USER_ERRORS
from caps.worker.inside.language.guards import (
    AttributeGuards,
    OwnClasses,
    plain_group,
)
from caps.worker.inside.language.special_methods import Hooks
from caps.worker.inside.language.opaque_types import SHOWN_TYPES as SHOWN
from caps.worker.inside.language.opaque_types import safe_type, type_of
from caps.worker.inside.channel.output import Stream, make_print
from caps.worker.inside.language.private_attributes import CLEAN_CLASSES, KIND_OF, OWN_GUARD, OWNED_GUARD
from caps.worker.inside.language.transformer import (
    CHANGE_GUARD,
    HOOK_GUARD,
    INHERITED_GUARD,
    READ_GUARD,
    SAFE_TYPE,
    SHOWN_TYPES,
    STAR_GUARD,
    TYPE_GUARD,
    WRITE_GUARD,
)

_PLAIN = (
    "Ellipsis False None NotImplemented True abs aiter all anext any ascii bin bool bytearray "
    "bytes callable chr classmethod complex dict divmod enumerate filter float format "
    "frozenset hash hex id int isinstance issubclass iter len list map max memoryview min "
    "next object oct ord pow property range repr reversed round set slice sorted staticmethod "
    "str sum super tuple zip "
).split()


def _exceptions() -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }


def make_builtins(stdout: Stream, importer: Callable[..., Any], own: OwnClasses) -> dict[str, Any]:
    """The builtins of one execution; `stdout` takes what is printed."""
    guards = AttributeGuards(own)
    hooks = Hooks(own, guards)
    return {
        **{name: getattr(builtins, name) for name in _PLAIN},
        **_exceptions(),
        **{error.__name__: error for error in USER_ERRORS},
        "__build_class__": own.build_class,
        "__debug__": True,
        "__import__": importer,
        "__name__": "builtins",
        "delattr": guards.delattr,
        "dir": guards.dir,
        "getattr": guards.getattr,
        "hasattr": guards.hasattr,
        "print": make_print(stdout),
        "setattr": guards.setattr,
        "type": safe_type,
        "vars": guards.vars,
        CHANGE_GUARD: guards.changeable,
        CLEAN_CLASSES: own.clean,
        HOOK_GUARD: hooks.define,
        INHERITED_GUARD: hooks.inherited,
        KIND_OF: type,
        OWNED_GUARD: own.owned,
        OWN_GUARD: own.own,
        READ_GUARD: guards.reflection.read,
        SAFE_TYPE: safe_type,
        SHOWN_TYPES: SHOWN,
        STAR_GUARD: plain_group,
        TYPE_GUARD: type_of,
        WRITE_GUARD: hooks.writer,
    }
