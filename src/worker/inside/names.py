"""Which identifiers user code may spell, as data: the static half of the language layer.

An identifier is harmless unless it can lead from an object to the interpreter behind it. Those that
can are refused wherever they stand. Python folds identifiers to NFKC before they reach the syntax
tree, so a look-alike is checked as what it really names.
"""

from __future__ import annotations

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

# Generators, coroutines, asynchronous generators and tracebacks: all their own attributes.
_INTERPRETER_PREFIXES = ("gi_", "cr_", "ag_", "tb_", "co_")
_INTERPRETER_NAMES = INSPECT_ATTRIBUTES | {
    "f_back",
    "f_builtins",
    "f_code",
    "f_generator",
    "f_globals",
    "f_lasti",
    "f_lineno",
    "f_locals",
    "f_trace",
    "f_trace_lines",
    "f_trace_opcodes",
    "func_closure",
    "func_code",
    "func_defaults",
    "func_globals",
}

# Double-underscore attributes that say something about an object and lead nowhere.
READABLE = frozenset(
    {"__cause__", "__context__", "__doc__", "__name__", "__notes__", "__qualname__"}
)

# Variables that code may read, and what a class body may assign beside its methods.
READABLE_VARIABLES = frozenset({"__debug__", "__name__"})
ASSIGNABLE_IN_CLASS = frozenset({"__doc__", "__hash__", "__slots__"})

_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()

# Methods that a class may define, and that `super().…()` or `Base.…(self)` may call. Not here: what
# changes how attributes, classes or instances come about (`__getattribute__`, `__new__`,
# `__init_subclass__`, `__set_name__`, `__instancecheck__`, `__class_getitem__`, `__reduce__`, …).
DEFINABLE = frozenset(
    {f"__{prefix}{name}__" for prefix in ("", "r", "i") for name in _OPERATORS}
    | {
        f"__{name}__"
        for name in (
            "abs aenter aexit aiter anext await bool bytes call ceil complex contains delitem "
            "enter eq exit float floor format ge getitem gt hash index init int invert iter le "
            "len length_hint lt missing ne neg next pos post_init repr reversed round setitem "
            "str trunc"
        ).split()
    }
)


def refusal(name: str) -> str | None:
    """Why no identifier may be spelt `name`; None if it may be."""
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return f"`{name}` reaches into the interpreter"
    if name.startswith(_INTERPRETER_PREFIXES) or name in _INTERPRETER_NAMES:
        return f"`{name}` reaches into the interpreter"
    return None


def is_private(name: str) -> bool:
    """Whether only the user's own objects may have an attribute of this name."""
    return name.startswith("_") and name not in READABLE
