"""(4) The guards: checks at run time of what the static rules cannot decide. After confinement.

The invariant: no function here ever returns a frame, a code object, a function's globals, a module,
or the real `type`. The guards' names are not valid identifiers, so user code can neither call nor
replace them. `getattr` and similar functions apply the same rules to names known only at run time.
"""

from __future__ import annotations

import builtins
import inspect
import sys
import types
import typing
from abc import ABCMeta
from collections.abc import Iterable
from decimal import Context
from enum import Enum, EnumType
from typing import Any

from caps.worker.inside.language.class_rules import (
    PLAIN_VALUES,
    add_iterator,
    check_base_class,
    check_fields,
    check_init,
    check_length,
    check_operation,
    check_slots,
    is_as_expected,
    resolve_metaclass,
    safe_match_args,
)
from caps.worker.inside.language.identifiers import (
    CHECKED,
    NAMEDTUPLE_NAMES,
    OPERATIONS,
    PUBLIC_UNDERSCORE_NAMES,
    READABLE,
    SIGNALS,
    is_private,
    refusal,
)
from caps.worker.inside.language.opaque_types import OpaqueType, safe_type, type_of
from caps.worker.inside.language.reflection import Reflection, is_users_function

_ABSENT = object()
_NO_NAMES: frozenset[str] = frozenset()
_MAX_HARMLESS_NAMES = 1000

# Not classes, but allowed as bases: their `__mro_entries__` returns the real base.
_TYPING_FORMS = tuple(
    form for form in (typing.NamedTuple, typing.TypedDict) if not isinstance(form, type)
)


class OwnClasses:
    """The classes that user code defined. Only class statements reach `build_class`.

    A private attribute belongs to the user if the object does, and if no library class among its
    ancestors has an attribute of that name. (For example, `_convert_` of an enum turns the globals
    of a real module into members.)
    """

    def __init__(self, granted: frozenset[str] = _NO_NAMES) -> None:
        """`granted` are the real modules of the policy, which this layer does not protect from."""
        self._granted = granted
        # The private names that each class inherits from library classes.
        self._foreign_names: dict[type, frozenset[str]] = {}
        # The private names in the source of the running code; None until they are known.
        self._private_names_in_source: frozenset[str] | None = None
        # The classes that inherit none of these names: their instances need no further check.
        # Compiled code reads this set under `CLEAN_CLASSES`, which is not a valid identifier.
        self.clean: set[type] = set()

    def add_private_names(self, private_names: frozenset[str]) -> None:
        """Note the private names of code that is about to run."""
        self._private_names_in_source = private_names | (self._private_names_in_source or _NO_NAMES)
        # A copy, since a collected generator may define a class in the middle of the loop.
        for cls, foreign in self._foreign_names.copy().items():
            if not self._is_clean(foreign):
                self.clean.discard(cls)

    def _is_clean(self, foreign: frozenset[str]) -> bool:
        names = self._private_names_in_source
        return not foreign or (names is not None and foreign.isdisjoint(names))

    def build_class(self, body: Any, name: str, /, *bases: Any, **keywords: Any) -> Any:
        """`__build_class__` of user space: every class statement calls it."""
        for base in bases:
            self._check_base(base)
        # A subclass of str could be `metaclass` for the interpreter only.
        if any(type(keyword) is not str for keyword in keywords):
            raise TypeError("keywords must be strings")
        if "metaclass" in keywords:
            keywords["metaclass"] = resolve_metaclass(keywords["metaclass"])
        return self.register_unfinished(builtins.__build_class__(body, name, *bases, **keywords))

    def register(self, cls: Any) -> Any:
        """Count a class as the user's own (also one that a decorator or factory created again)."""
        if isinstance(cls, type):
            foreign = self._find_foreign_names(cls)
            for base in cls.__bases__:
                # Python asks an alias for its bases twice, and the answers may differ.
                self._check_base_class(base)
            check_slots(cls)
            check_init(cls)
            check_length(cls.__name__, (cls,))
            add_iterator(cls)
            check_fields(cls, getattr(cls, "__dataclass_fields__", ()), foreign)
            pattern = inspect.getattr_static(cls, "__match_args__", ())
            # Any object may be an instance of an abstract class.
            contexts = isinstance(cls, ABCMeta) or issubclass(cls, Context)
            if safe_match_args(pattern, contexts=contexts) is not pattern:
                type.__setattr__(cls, "__match_args__", ())
            self._foreign_names[cls] = foreign
            if self._is_clean(foreign):
                self.clean.add(cls)
        return cls

    def register_unfinished(self, owner: Any) -> Any:
        """The same for a class that must come from a class statement, which may not be finished.

        User code can call `__set_name__` and `__init_subclass__` with any class. So only a class
        of the user's own program is accepted; user code cannot change the `__module__` of a class.
        """
        if isinstance(owner, type) and vars(owner).get("__module__") != "__main__":
            raise TypeError(f"`{owner.__name__}` is not a class of your own making")
        return self.register(owner)

    def inherits_private_names(self, cls: type) -> bool:
        """Whether a library class among the ancestors of `cls` has private names."""
        return bool(self._foreign_names[cls])

    def set_operation(self, cls: Any, name: str, value: Any) -> None:
        """Set a method of `identifiers.OPERATIONS` of a class, under the rules of its statement."""
        if not self.is_own(cls):
            raise AttributeError(f"`{name}` can be set of your own classes only")
        check_operation(cls, name)
        type.__setattr__(cls, name, value)
        add_iterator(cls)

    def is_own(self, value: Any) -> bool:
        """Whether `value` is a class that user code defined."""
        if not isinstance(value, type):
            return False
        if isinstance(value, EnumType) and value.__module__ == "__main__":
            # An enum creates its members, and calls their `__new__`, before its class is finished.
            self._foreign_names.get(value) or self.register(value)
        return value in self._foreign_names

    def may_return(self, kind: type, cls: type) -> bool:
        """Whether `__new__` of `cls` may return an instance of `kind`.

        Copying an instance of `cls` writes its state into the returned object. So a private name
        that is the user's in `cls` must not belong to a library in `kind`.
        """
        if not is_as_expected(kind, cls):
            return False
        if self.is_own(kind):
            return self._foreign_names[kind] <= self._foreign_names.get(cls, _NO_NAMES)
        return kind in PLAIN_VALUES

    def check_fields(self, cls: type, names: Iterable[str]) -> None:
        """Raise TypeError if `cls` cannot have fields of these names: no guard checks reading."""
        check_fields(cls, names, self._foreign_names[cls])

    def check_private(self, value: Any, name: str) -> Any:
        """Return `value` if its private attribute `name` is the user's; else AttributeError."""
        foreign = self._foreign_names.get(type(value))
        if foreign is None:
            foreign = self._foreign_names_of(value, name)
        if name in foreign:
            raise AttributeError(f"`{name}` belongs to the library, not to this object")
        return value

    def check_all_private(self, value: Any, *names: str) -> None:
        """Raise AttributeError unless all these private attributes of `value` are the user's."""
        if type(value) is super:
            # One check covers the whole method, but `super.__init__` can bind it to another object.
            raise AttributeError("a `super` has no private attributes here")
        for name in names:
            self.check_private(value, name)

    def _foreign_names_of(self, value: Any, name: str) -> frozenset[str]:
        """The foreign names of a class, a function, a `super()` or an unregistered instance."""
        kind = type(value)
        if self.is_own(kind):
            return self._foreign_names[kind]
        owner: Any = value if isinstance(value, type) else None
        if kind is super:
            owner = super.__self_class__.__get__(value)  # type: ignore[attr-defined]
        foreign = self._foreign_names.get(owner) if owner is not None else None
        if foreign is not None:
            return foreign
        is_tuple = issubclass(owner if isinstance(value, type) else kind, tuple)
        # A function of a library may be a wrapper that has got the attributes of another object.
        if is_users_function(value) or (is_tuple and name in NAMEDTUPLE_NAMES):
            return _NO_NAMES
        raise AttributeError(f"`{kind.__name__}` has no private attributes")

    def _check_base(self, base: Any) -> None:
        """Raise TypeError if no class may derive from `base`."""
        if isinstance(base, type):
            self._check_base_class(base)
            return
        # Python calls `__mro_entries__` of a base that is not a class, twice. So only objects that
        # always return the same are allowed. (Also, the class of an instance of the user's would
        # become the metaclass.)
        is_form = any(base is form for form in _TYPING_FORMS)
        if not is_form and type(base).__module__ not in ("types", "typing"):
            raise TypeError(f"a base must be a class, not a `{type(base).__name__}`")
        for entry in types.resolve_bases((base,)):
            self._check_base_class(entry)

    def _check_base_class(self, base: Any) -> None:
        if not isinstance(base, type):
            raise TypeError(f"a base must be a class, not a `{type(base).__name__}`")
        check_base_class(base)
        # The base `typing.Type` resolves to the real `type`, whose subclass could create any class.
        if issubclass(base, type):
            raise TypeError("a class that makes classes cannot be a base class here")
        forwards = issubclass(base, (super, types.GenericAlias)) or any(
            "__getattr__" in vars(kind)
            and kind not in self._foreign_names
            and not kind.__module__.startswith("caps.")
            and kind.__module__.partition(".")[0] not in self._granted
            for kind in base.__mro__
        )
        # A class that forwards attributes to another object would make the private names of that
        # object the user's. And the private state of our own objects includes the channel.
        is_internal = base.__module__.startswith("caps.") and not issubclass(
            base, (BaseException, Enum)
        )
        if forwards or is_internal or isinstance(base, OpaqueType):
            is_type = base is safe_type
            instead = "; define `__init_subclass__` in a base class" if is_type else ""
            raise TypeError(f"`{base.__name__}` cannot be a base class here{instead}")

    def _find_foreign_names(self, cls: type) -> frozenset[str]:
        ancestors = [*cls.__mro__[1:], *inspect.getmro(type(cls))]
        libraries = [kind for kind in ancestors if kind not in self._foreign_names]
        names = {name for kind in libraries for name in vars(kind)}
        private = {name for name in names if is_private(name) and refusal(name) is None}
        return frozenset(private - PUBLIC_UNDERSCORE_NAMES)


def _checked_name(name: Any) -> str:
    # A subclass of str could give one name here and another one to the real getattr.
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    return name


class AttributeGuards:
    """`getattr` and similar builtins, under the static rules."""

    def __init__(self, own: OwnClasses) -> None:
        self._own = own
        self.reflection = Reflection(own, self.check_writable)
        # Names that are known to be harmless on any object; most code uses few.
        self._harmless: set[str] = set()

    def getattr(self, value: Any, name: str, default: Any = _ABSENT) -> Any:
        if type(name) is str and name in self._harmless:
            return getattr(value, name) if default is _ABSENT else getattr(value, name, default)
        try:
            return self.read(value, _checked_name(name))
        except AttributeError:
            if default is _ABSENT:
                raise
            return default

    def hasattr(self, value: Any, name: str) -> bool:
        try:
            self.read(value, _checked_name(name))
        except AttributeError:
            return False
        return True

    def setattr(self, value: Any, name: str, new: Any) -> None:
        if _checked_name(name) in OPERATIONS:
            self._own.set_operation(value, name, new)
            return
        self.check_writable(value, name)
        setattr(value, name, new)

    def delattr(self, value: Any, name: str) -> None:
        self.check_writable(value, _checked_name(name))
        delattr(value, name)

    def dir(self, *values: Any) -> list[str]:
        if not values:
            raise TypeError("`dir` needs an object here")
        return [name for name in builtins.dir(*values) if self._is_listed(values[0], name)]

    def vars(self, value: Any) -> dict[str, Any]:
        """The attributes of an object of the user's own."""
        try:
            return self.reflection.dictionary(value)
        except AttributeError as error:
            raise TypeError(f"vars() needs an object of your own: {error}") from None

    def read(self, value: Any, name: str) -> Any:
        """`value.name` under the static rules, for a name that is known only at run time."""
        if name == "__class__":
            return type_of(value)
        if name not in READABLE and name not in CHECKED:
            _raise_if_refused(name)
        if name in CHECKED or name in SIGNALS:
            return self.reflection.read(value, name)
        if is_private(name):
            self._own.check_private(value, name)
        elif len(self._harmless) < _MAX_HARMLESS_NAMES:
            self._harmless.add(name)
        return getattr(value, name)

    def check_augmented(self, value: Any, name: str) -> Any:
        """Return `value` if `value.name += …` may read the real attribute, else raise."""
        if not self._own.is_own(type(value)) or isinstance(value, (str, AttributeError, Context)):
            raise AttributeError(f"`{name}` of a `{type(value).__name__}` can only be assigned")
        return value

    def check_writable(self, value: Any, name: str) -> None:
        """Raise AttributeError unless user code may set and delete `value.name`."""
        _raise_if_refused(name)
        if is_private(name):
            self._own.check_private(value, name)

    def _is_listed(self, value: Any, name: str) -> bool:
        try:
            self.check_writable(value, name)
        except AttributeError:
            return False
        return True


def _raise_if_refused(name: str) -> None:
    message = refusal(name)
    if message is not None:
        raise AttributeError(message)


def check_exception_group(caught: Any) -> Any:
    """Return `caught`, the types of an `except*`, if the handled group is a plain one.

    The interpreter calls `split` of the group and assumes, without a check, that it returns a
    tuple. So a `split` defined by user code could corrupt memory.
    """
    group = sys.exception()
    if isinstance(group, BaseExceptionGroup) and (
        type(group) not in (BaseExceptionGroup, ExceptionGroup)
        or not {"derive", "split"}.isdisjoint(group.__dict__)
    ):
        raise TypeError("`except*` handles plain exception groups only") from None
    return caught
