"""(4) Copying under our rules: `copy` of user space, and of every library function that copies.

The library copies an object by what its `__reduce_ex__` answers: a function to call, and the state
to write. This gives user code three ways around the guards, which are closed here:

- a bound method answers with `getattr` and the name of its function, which user code can set; an
  alias of `typing` answers with the name of a global variable. Both are immutable: the copy is the
  object itself.
- the state is written by name, without a guard, and user code may decide on it. So it is written
  into an object of the same kind only, every name must be a plain string, and none may be one that
  the interpreter looks up (`__class__`, `__deepcopy__`, …).
- the copy of an object of ours, or of a method of it, would be a guard with other rules. Methods of
  ours are shared, like functions, and our other objects cannot be copied.

Runs in the zygote, before any fork.
"""

from __future__ import annotations

import copy
import copyreg
import functools
import operator
import sys
import types
from enum import Enum
from typing import Any

_library: Any = copy
_deepcopy = copy.deepcopy
_library_deepcopy_method = _library._deepcopy_dispatch[types.MethodType]

# The functions, next to classes, that may create a copy.
_NEW_OBJECT: Any = copyreg.__newobj__  # type: ignore[attr-defined]
_CONSTRUCTORS = frozenset(
    {
        copyreg.__newobj_ex__,  # type: ignore[attr-defined]
        copyreg._reconstructor,  # type: ignore[attr-defined]
        iter,
        reversed,
    }
)
# The functions that look an object up again instead of creating one.
_LOOKUPS = frozenset({functools.reduce, getattr, next, operator.getitem})

_KNOWN_MODULES = sys.stdlib_module_names | {"__main__", "caps"}

# Classes of ours whose instances have no state but their values.
_PLAIN_CLASSES = (BaseException, Enum, tuple)

# The special names that libraries, and `functools.wraps` of user space, write into an object.
_KEPT_NAMES = frozenset(
    {
        "__annotations__",
        "__doc__",
        "__module__",
        "__name__",
        "__notes__",
        "__orig_class__",
        "__qualname__",
        "__type_params__",
        "__wrapped__",
    }
)


# Kinds that were checked before.
_copyable: set[type] = set()
_MAX_KNOWN_KINDS = 1000


def restrict_copying() -> None:
    """Apply the rules to the library's `copy`, which other libraries use, too."""
    copyreg.pickle(types.MethodType, _is_its_own_copy)
    _library._deepcopy_dispatch[types.MethodType] = _deepcopy_method
    _library._reconstruct = _reconstruct


def deepcopy(x: Any) -> Any:
    """`copy.deepcopy`; without its `memo`, which exposes every object that is copied."""
    return _deepcopy(x)


def _is_its_own_copy(_method: Any) -> str:
    return "a string means that the copy is the object itself"


def _deepcopy_method(method: Any, memo: Any) -> Any:
    is_ours = type(method.__self__).__module__[:5] == "caps."
    return method if is_ours else _library_deepcopy_method(method, memo)


def _reconstruct(
    x: Any,
    memo: Any,
    func: Any,
    args: Any,
    state: Any = None,
    listiter: Any = None,
    dictiter: Any = None,
) -> Any:
    """Make a copy of `x` by the answer of its `__reduce_ex__`; a deep one if there is a `memo`."""
    kind = type(x)
    if func is not _NEW_OBJECT and not isinstance(func, type) and func not in _CONSTRUCTORS:
        if func in _LOOKUPS:
            return x
        if not _is_of_a_real_module(func):
            raise _refusal(kind)
    if kind not in _copyable:
        _check_kind(kind)
    if memo is None:
        made = func(*args)
    else:
        made = memo[id(x)] = func(*[_deepcopy(argument, memo) for argument in args])
    if state is not None:
        _write_state(kind, made, state if memo is None else _deepcopy(state, memo))
    if listiter is not None:
        for item in listiter:
            made.append(item if memo is None else _deepcopy(item, memo))
    if dictiter is not None:
        _write_items(made, memo, dictiter)
    return made


def _write_items(made: Any, memo: Any, items: Any) -> None:
    for key, value in items:
        if memo is None:
            made[key] = value
        else:
            made[_deepcopy(key, memo)] = _deepcopy(value, memo)


def _is_of_a_real_module(func: Any) -> bool:
    """Whether `func` belongs to a module that a policy grants: no rule of ours applies to it."""
    module = getattr(func, "__module__", None)
    return type(module) is str and module.partition(".")[0] not in _KNOWN_MODULES


def _check_kind(kind: type) -> None:
    """Raise TypeError if instances of `kind` are ours and cannot be copied."""
    if kind.__module__.startswith("caps.") and not issubclass(kind, _PLAIN_CLASSES):
        raise _refusal(kind)
    if len(_copyable) < _MAX_KNOWN_KINDS:
        _copyable.add(kind)


def _write_state(kind: type, made: Any, state: Any) -> None:
    """Write the state of an instance of `kind` into its copy.

    A `__new__` of user space may return an object of another class, and methods that user code can
    override (`Random.getstate`) decide on the state.
    """
    made_kind = type(made)
    setstate = getattr(made_kind, "__setstate__", None)
    if made_kind is not kind and setstate is not getattr(kind, "__setstate__", None):
        raise _refusal(kind)
    if setstate is not None:
        if isinstance(made, BaseException):  # it sets every item as an attribute
            _check_names(kind, state)
        setstate(made, state)
        return
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if attributes is not None:
        _check_names(kind, attributes)
        made.__dict__.update(attributes)
    if slots is not None:
        _check_names(kind, slots)
        for name, value in slots.items():
            setattr(made, name, value)


def _check_names(kind: type, attributes: Any) -> None:
    """Raise TypeError if a name is one that no guard has checked."""
    if type(attributes) is not dict:
        raise _refusal(kind)
    for name in attributes:
        # A subclass of str could give one name here and another one to `setattr`.
        if type(name) is not str:
            raise _refusal(kind)
        if name[:2] == "__" and name[-2:] == "__" and name not in _KEPT_NAMES:
            raise _refusal(kind)


def _refusal(kind: type) -> TypeError:
    return TypeError(f"a `{kind.__name__}` cannot be copied")
