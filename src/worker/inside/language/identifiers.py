"""(4) The identifiers that user code may use, as data: the static half of the language layer.

An identifier is harmless unless it gives access from an object to the interpreter. Those that do
are refused everywhere. Python normalizes identifiers to NFKC before they reach the syntax tree, so
a look-alike is checked as the name that it becomes.
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


# Methods that a class may define and any code may call: an operator, a statement or a builtin
# function does the same.
OPERATIONS = frozenset(
    f"__{prefix}{name}__" for prefix in ("", "r", "i") for name in _OPERATORS
) | _dunders(
    "abs aenter aexit aiter anext await bool bytes call ceil complex contains copy delitem "
    "enter eq exit float floor format fspath ge getitem gt hash index init int invert iter le "
    "len length_hint lt missing ne neg next pos post_init repr reversed round setitem sizeof str "
    "trunc"
)

# Methods that are called with the name of an attribute, or with a class that is not finished. A
# class may define them, and call the inherited ones, under the rules of `special_methods`. Left
# out are methods that change how every attribute is read, what a class is, or how objects are
# copied (`__getattribute__`, `__prepare__`, `__instancecheck__`, `__mro_entries__`, `__reduce__`,
# …), and `__del__`, which would run in the middle of our own code.
HOOKS = _dunders(
    "class_getitem delattr delete get getattr init_subclass new set set_name setattr subclasshook"
)

DEFINABLE = OPERATIONS | HOOKS | {"__dir__"}

# Double-underscore attributes that describe an object and give access to nothing else.
READABLE = OPERATIONS | _dunders(
    "cause context doc members mutable_keys name notes optional_keys qualname readonly_keys "
    "required_keys stderr stdout suppress_context total traceback type_params version"
)

# Those that code may also set, and operations, which a decorator adds to a class;
# `special_methods.AttributeWriter` checks on which objects.
WRITABLE = OPERATIONS | _dunders("cause context dict doc name qualname suppress_context traceback")

# Attributes that user code must not get unchanged: methods of `str` that read attributes by name,
# the object of an AttributeError, which a library never meant to expose, the dictionaries of
# objects, the base classes of a checked class, what describes a function, and `__init__`: many
# library types do not expect to be initialized again while they work. `reflection` returns the
# harmless part of them.
FORMATTERS = frozenset({"format", "format_map"})
REFLECTED = _dunders(
    "abstractmethods annotations args base bases dataclass_fields defaults dict func kwdefaults "
    "match_args metadata module mro orig_bases parameters self slots subclasses wrapped"
)
CHECKED = FORMATTERS | REFLECTED | {"__init__", "mro", "obj"}

# In a decimal context these point into its memory but do not keep it alive. Any object may have
# attributes of these names, so only reading them is checked.
SIGNALS = frozenset({"flags", "traps"})
# Every attribute whose read needs a look at the object, whoever owns it.
GUARDED_READS = CHECKED | SIGNALS

# Names with an underscore that are nevertheless the public API of namedtuples and enums.
NAMEDTUPLE_NAMES = frozenset({"_asdict", "_field_defaults", "_fields", "_make", "_replace"})
PUBLIC_UNDERSCORE_NAMES = NAMEDTUPLE_NAMES | {
    "_generate_next_value_",
    "_ignore_",
    "_member_map_",
    "_missing_",
    "_name_",
    "_order_",
    "_value2member_map_",
    "_value_",
}

# Variables that describe a program: it may set and read them.
VARIABLES = _dunders("all author copyright credits date email license maintainer status version")
READABLE_VARIABLES = VARIABLES | {"__debug__", "__doc__", "__file__", "__name__"}
# Names that a class body may assign; it may also read the methods that it has defined.
ASSIGNABLE_IN_CLASS = OPERATIONS | _dunders("doc match_args slots")
# Those that the interpreter or a library reads again later: `class_rules` freezes their values.
FROZEN_IN_CLASS = _dunders("doc match_args slots")


def refusal(name: str) -> str | None:
    """Why user code must not use the identifier `name`; None if it may."""
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return f"`{name}` reaches into the interpreter"
    if name.startswith(_INTERPRETER_PREFIXES) or name in _INTERPRETER_NAMES:
        return f"`{name}` reaches into the interpreter"
    return None


def is_private(name: str) -> bool:
    """Whether only the user's own objects may have an attribute of this name."""
    return name.startswith("_") and name not in READABLE and name not in REFLECTED


def needs_guard(name: str) -> bool:
    """Whether reading an attribute of this name needs a check of the object at run time."""
    return is_private(name) or name in CHECKED


def mangled(name: str, class_name: str | None) -> str:
    """The attribute that `name` means inside a class: Python mangles `__x` to `_Class__x`."""
    bare = (class_name or "").lstrip("_")
    if not bare or not name.startswith("__") or name.endswith("__"):
        return name
    return f"_{bare}{name}"
