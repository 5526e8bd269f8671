"""A process that runs its input under unmodified RestrictedPython, with its own policy and guards.

Builtins that any program needs are added, as every user of RestrictedPython does.
"""

from __future__ import annotations

import builtins
import importlib
import json
import operator
import sys
from collections.abc import Callable
from typing import Any

from RestrictedPython.compile import compile_restricted
from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
from RestrictedPython.Guards import (
    full_write_guard,
    guarded_iter_unpack_sequence,
    guarded_unpack_sequence,
    safe_globals,
    safer_getattr,
)

_BUILTINS = "all any dict enumerate filter frozenset list map max min next range reversed set sum"
_IMPORTS = {"collections", "functools", "json", "math", "re", "time"}
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "|=": operator.ior,
}


def _import(name: str, *_: object) -> Any:
    if name not in _IMPORTS:
        raise ImportError(name)
    return importlib.import_module(name)


def _apply(function: Any, *positional: Any, **named: Any) -> Any:
    return function(*positional, **named)


def _in_place(symbol: str, left: Any, right: Any) -> Any:
    return _IN_PLACE[symbol](left, right)


def _surroundings() -> dict[str, Any]:
    allowed = {name: getattr(builtins, name) for name in _BUILTINS.split()}
    return {
        "__builtins__": {
            **safe_globals["__builtins__"],
            **allowed,
            "__import__": _import,
            "super": super,
            "property": property,
        },
        "__metaclass__": type,
        "__name__": "program",
        "_apply_": _apply,
        "_getattr_": safer_getattr,
        "_getitem_": default_guarded_getitem,
        "_getiter_": default_guarded_getiter,
        "_inplacevar_": _in_place,
        "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
        "_unpack_sequence_": guarded_unpack_sequence,
        "_write_": full_write_guard,
    }


def main() -> None:
    """Run the program on standard input; print its result and time, or why it cannot run."""
    names = _surroundings()
    try:
        exec(compile_restricted(sys.stdin.read(), "<agent>", "exec"), names)
    except Exception as error:  # noqa: BLE001 - for any error, the program cannot run here
        print(json.dumps({"refused": str(error) or type(error).__name__}))
        return
    print(json.dumps({"value": repr(names["bench_value"]), "seconds": names["bench_shortest"]}))


if __name__ == "__main__":
    main()
