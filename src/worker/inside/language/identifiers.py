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
}

_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()


def _dunders(names: str) -> frozenset[str]:
    return frozenset(f"__{name}__" for name in names.split())


# Methods that a class may define and everybody may call: what they do, an operator, a statement or
# a builtin function does as well.
OPERATIONS = frozenset(
    f"__{prefix}{name}__" for prefix in ("", "r", "i") for name in _OPERATORS
) | _dunders(
    "abs aenter aexit aiter anext await bool bytes call ceil complex contains copy delitem "
    "enter eq exit float floor format fspath ge getitem gt hash index init int invert iter le "
    "len length_hint lt missing ne neg next pos post_init repr reversed round setitem str trunc"
)

# Methods that are called with the name of an attribute, or with a class that is not finished. A
# class may define them, and call the inherited ones, under the rules of `hooks`. Not here: what
# changes how every attribute is read, what a class is, or how objects are taken apart
# (`__getattribute__`, `__prepare__`, `__instancecheck__`, `__mro_entries__`, `__reduce__`, …), and
# `__del__`, which would run in the midst of our own code.
HOOKS = _dunders("class_getitem delattr delete get getattr init_subclass new set set_name setattr")

DEFINABLE = OPERATIONS | HOOKS | {"__dir__"}

# Double-underscore attributes that say something about an object and lead nowhere.
READABLE = OPERATIONS | _dunders(
    "cause context doc members name notes qualname suppress_context traceback"
)

# Of these, what code may set, and only on what is its own: `hooks.Writer` checks it.
WRITABLE = _dunders("cause context doc name qualname suppress_context traceback")

# What must not be met as it is: methods of `str` that walk attributes by name, an AttributeError's
# object, which was never meant to leave a library, the dictionaries behind objects, and the
# classes that a checked one stands on. `reflection` hands out what is harmless of them.
FORMATTERS = frozenset({"format", "format_map"})
REFLECTED = frozenset({"__annotations__", "__bases__", "__dict__", "__mro__", "__subclasses__"})
CHECKED = FORMATTERS | REFLECTED | {"mro", "obj"}

# What a decimal context has of these leads into its memory and does not keep it there. They are
# names that anything may have, so that only reading them is checked.
SIGNALS = frozenset({"flags", "traps"})

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

# Variables that say something about a program: it may set and read them.
VARIABLES = _dunders("all author copyright credits date email license maintainer status version")
READABLE_VARIABLES = VARIABLES | {"__debug__", "__doc__", "__file__", "__name__"}
# What a class body may assign; of its own methods it may also read those that it has defined.
ASSIGNABLE_IN_CLASS = OPERATIONS | _dunders("doc match_args slots")


def refusal(name: str) -> str | None:
    """Why no identifier may be spelt `name`; None if it may be."""
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return f"`{name}` reaches into the interpreter"
    if name.startswith(_INTERPRETER_PREFIXES) or name in _INTERPRETER_NAMES:
        return f"`{name}` reaches into the interpreter"
    return None


def is_private(name: str) -> bool:
    """Whether only the user's own objects may have an attribute of this name."""
    return name.startswith("_") and name not in READABLE and name not in REFLECTED


def needs_guard(name: str) -> bool:
    """Whether the object, too, decides if an attribute of this name may be read."""
    return is_private(name) or name in CHECKED


def mangled(name: str, class_name: str | None) -> str:
    """The attribute that `name` stands for inside a class: Python makes `__x` private to it."""
    bare = (class_name or "").lstrip("_")
    if not bare or not name.startswith("__") or name.endswith("__"):
        return name
    return f"_{bare}{name}"
