"""(4) Which identifiers user code may spell, as data: the static half of the language layer.

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
    "cell_contents",
    "mro",  # it would show the library classes that a checked one stands on
}

# Double-underscore attributes that say something about an object and lead nowhere.
READABLE = frozenset(
    {"__cause__", "__context__", "__doc__", "__members__", "__name__", "__notes__", "__qualname__"}
)

# Private by spelling, and yet what namedtuples and enums offer to everybody.
NAMEDTUPLE_NAMES = frozenset({"_asdict", "_field_defaults", "_fields", "_make", "_replace"})
OFFERED = NAMEDTUPLE_NAMES | {
    "_generate_next_value_",
    "_ignore_",
    "_member_map_",
    "_missing_",
    "_name_",
    "_order_",
    "_value2member_map_",
    "_value_",
}

# What `str` and AttributeError have under these names must not be met as it is: methods that walk
# attributes by name, and an object that was never meant to leave a library (its real `type`).
FORMATTERS = frozenset({"format", "format_map"})
CHECKED = FORMATTERS | {"obj"}

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


def needs_guard(name: str) -> bool:
    """Whether the object, too, decides if an attribute of this name may be read."""
    return is_private(name) or name in CHECKED


def mangled(name: str, class_name: str | None) -> str:
    """The attribute that `name` stands for inside a class: Python makes `__x` private to it."""
    bare = (class_name or "").lstrip("_")
    if not bare or not name.startswith("__") or name.endswith("__"):
        return name
    return f"_{bare}{name}"
