"""(4) What the static rules cannot settle, checked at run time, after confinement.

The invariant: no function here ever returns a frame, a code object, a function's globals, a module,
or the real `type`. User code cannot spell the guards' names and so can neither call nor replace
them; `getattr` and its kin apply the same rules to names that exist only at run time.
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
    check_fields,
    check_slots,
    chosen_metaclass,
    harmless_pattern,
)
from caps.worker.inside.language.identifiers import (
    CHECKED,
    NAMEDTUPLE_NAMES,
    OFFERED,
    READABLE,
    SIGNALS,
    is_private,
    refusal,
)
from caps.worker.inside.language.opaque_types import OpaqueType, type_of
from caps.worker.inside.language.reflection import Reflection

_ABSENT = object()
_NONE: frozenset[str] = frozenset()
_MAX_REMEMBERED = 1000

# What is no class and may stand among the bases nevertheless: it says itself what it stands for.
_FORMS = tuple(form for form in (typing.NamedTuple, typing.TypedDict) if not isinstance(form, type))


class OwnClasses:
    """The classes that user code made. Only class statements reach `build_class`.

    A private attribute belongs to the user if the object does, and if no class of a library in its
    ancestry has one of that name: `_convert_` of an enum makes members of a real module's globals.
    """

    def __init__(self) -> None:
        # For each class the private names that it inherits from a library's.
        self._made: dict[type, frozenset[str]] = {}
        # The private names in the source of what runs; None until that is known.
        self._spelt: frozenset[str] | None = None
        # The classes that inherit none of these: their instances need no further look. Compiled
        # code asks this set, under a name that no source can spell.
        self.clean: set[type] = set()

    def will_meet(self, private_names: frozenset[str]) -> None:
        """Code that spells these is about to run."""
        self._spelt = private_names | (self._spelt or _NONE)
        for made, foreign in self._made.items():
            if not self._is_clean(foreign):
                self.clean.discard(made)

    def _is_clean(self, foreign: frozenset[str]) -> bool:
        return not foreign or (self._spelt is not None and foreign.isdisjoint(self._spelt))

    def build_class(self, body: Any, name: str, *bases: Any, **keywords: Any) -> Any:
        """`class` statements end here."""
        for base in bases:
            self._check_base(base)
        if "metaclass" in keywords:
            keywords["metaclass"] = chosen_metaclass(keywords["metaclass"])
        return self.adopt(builtins.__build_class__(body, name, *bases, **keywords))

    def adopt(self, made: Any) -> Any:
        """Count a class as the user's own (also one that a decorator or factory made anew)."""
        if isinstance(made, type):
            foreign = self._foreign_names(made)
            for base in made.__bases__:
                # Asked for its bases a second time, an alias may have answered with another one.
                self._check_base_class(base)
            check_slots(made)
            check_fields(made, getattr(made, "__dataclass_fields__", ()), foreign)
            pattern = inspect.getattr_static(made, "__match_args__", ())
            if harmless_pattern(pattern, virtual=isinstance(made, ABCMeta)) is not pattern:
                type.__setattr__(made, "__match_args__", ())
            self._made[made] = foreign
            if self._is_clean(foreign):
                self.clean.add(made)
        return made

    def adopt_unfinished(self, owner: Any) -> Any:
        """The same for the class that a class statement is about to give.

        Who is told of it can be called with any class: only one that stands in the user's own
        program is taken, and user code cannot change what module a class says it is from.
        """
        if isinstance(owner, type) and vars(owner).get("__module__") != "__main__":
            raise TypeError(f"`{owner.__name__}` is not a class of your own making")
        return self.adopt(owner)

    def made(self, value: Any) -> bool:
        """Whether `value` is one of these classes."""
        if not isinstance(value, type):
            return False
        if isinstance(value, EnumType) and value.__module__ == "__main__":
            # An enum makes its members, and calls their `__new__`, before its class is finished.
            self._made.get(value) or self.adopt(value)
        return value in self._made

    def may_stand_for(self, kind: type, asked: type) -> bool:
        """Whether `__new__` of `asked` may give a `kind`.

        A copy of an `asked` has its state written into that, so no name that is the user's in
        the one may be a library's in the other.
        """
        if self.made(kind):
            return self._made[kind] <= self._made.get(asked, _NONE)
        return kind in PLAIN_VALUES

    def check_fields(self, made: type, names: Iterable[str]) -> None:
        """A TypeError if `made` cannot have fields of these names: reading them has no guard."""
        check_fields(made, names, self._made[made])

    def own(self, value: Any, name: str) -> Any:
        """`value` itself if its private attribute `name` is the user's; else AttributeError."""
        foreign = self._made.get(type(value))
        if foreign is None:
            foreign = self._foreign_to(value, name)
        if name in foreign:
            raise AttributeError(f"`{name}` belongs to the library, not to this object")
        return value

    def owned(self, value: Any, *names: str) -> None:
        """An AttributeError unless every one of these private attributes is the user's."""
        if type(value) is super:
            # The answer has to last, and a `super()` can be made anew for another object.
            raise AttributeError("a `super` has no private attributes here")
        for name in names:
            self.own(value, name)

    def _foreign_to(self, value: Any, name: str) -> frozenset[str]:
        """The same for what is no instance of an own class: a class, a function, `super()`."""
        kind = type(value)
        if self.made(kind):
            return self._made[kind]
        owner: Any = value if isinstance(value, type) else None
        if kind is super:
            owner = super.__self_class__.__get__(value)  # type: ignore[attr-defined]
        foreign = self._made.get(owner) if owner is not None else None
        if foreign is not None:
            return foreign
        named = issubclass(owner if isinstance(value, type) else kind, tuple)
        if kind is types.FunctionType or (named and name in NAMEDTUPLE_NAMES):
            return _NONE
        raise AttributeError(f"`{kind.__name__}` has no private attributes")

    def _check_base(self, base: Any) -> None:
        """A TypeError if no class may stand on `base`."""
        if isinstance(base, type):
            self._check_base_class(base)
            return
        # What is no class is asked for its bases by `__mro_entries__`, twice; only what cannot
        # change its answer may be asked. (And an instance of the user's would make its own class
        # the metaclass.)
        if base not in _FORMS and type(base).__module__ not in ("types", "typing"):
            raise TypeError(f"a base must be a class, not a `{type(base).__name__}`")
        for entry in types.resolve_bases((base,)):
            self._check_base_class(entry)

    def _check_base_class(self, base: Any) -> None:
        if not isinstance(base, type):
            raise TypeError(f"a base must be a class, not a `{type(base).__name__}`")
        # `typing.Type` as a base stands for the real `type`: its subclass would make any class.
        if issubclass(base, type):
            raise TypeError("a class that makes classes cannot be a base class here")
        forwards = issubclass(base, (super, types.GenericAlias)) or any(
            "__getattr__" in vars(kind)
            and kind not in self._made
            and not kind.__module__.startswith("caps.")
            for kind in base.__mro__
        )
        # What passes attributes on to another object would make that one's private names the
        # user's; and what our own objects keep to themselves is no less than the channel.
        ours = base.__module__.startswith("caps.") and not issubclass(base, (BaseException, Enum))
        if forwards or ours or isinstance(base, OpaqueType):
            raise TypeError(f"`{base.__name__}` cannot be a base class here")

    def _foreign_names(self, made: type) -> frozenset[str]:
        ancestry = [*made.__mro__[1:], *inspect.getmro(type(made))]
        held = {name for kind in ancestry if kind not in self._made for name in vars(kind)}
        spelt = {name for name in held if is_private(name) and refusal(name) is None}
        return frozenset(spelt - OFFERED)


def _checked_name(name: Any) -> str:
    # A subclass of str could answer one thing here and another to the real getattr.
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    return name


class AttributeGuards:
    """`getattr` and its kin under the static rules."""

    def __init__(self, own: OwnClasses) -> None:
        self._own = own
        self.reflection = Reflection(own, self.check_writable)
        # Names that turned out to be harmless on any object; most code asks for few.
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
        self.check_writable(value, _checked_name(name))
        setattr(value, name, new)

    def delattr(self, value: Any, name: str) -> None:
        self.check_writable(value, _checked_name(name))
        delattr(value, name)

    def dir(self, *values: Any) -> list[str]:
        if not values:
            raise TypeError("`dir` needs an object here")
        return [name for name in builtins.dir(*values) if self._shown(values[0], name)]

    def vars(self, value: Any) -> dict[str, Any]:
        """What the user's own object holds."""
        try:
            return self.reflection.dictionary(value)
        except AttributeError as error:
            raise TypeError(f"vars() needs an object of your own: {error}") from None

    def read(self, value: Any, name: str) -> Any:
        """`value.name` under the static rules, for a name that is known only now."""
        if name == "__class__":
            return type_of(value)
        if name not in READABLE and name not in CHECKED:
            _refuse(name)
        if name in CHECKED or name in SIGNALS:
            return self.reflection.read(value, name)
        if is_private(name):
            self._own.own(value, name)
        elif len(self._harmless) < _MAX_REMEMBERED:
            self._harmless.add(name)
        return getattr(value, name)

    def changeable(self, value: Any, name: str) -> Any:
        """`value` itself, if `value.name += …` may read the attribute as it is."""
        if not self._own.made(type(value)) or isinstance(value, (str, AttributeError, Context)):
            raise AttributeError(f"`{name}` of a `{type(value).__name__}` can only be assigned")
        return value

    def check_writable(self, value: Any, name: str) -> None:
        """An AttributeError unless code may set and delete `value.name`."""
        _refuse(name)
        if is_private(name):
            self._own.own(value, name)

    def _shown(self, value: Any, name: str) -> bool:
        try:
            self.check_writable(value, name)
        except AttributeError:
            return False
        return True


def _refuse(name: str) -> None:
    message = refusal(name)
    if message is not None:
        raise AttributeError(message)


def plain_group(caught: Any) -> Any:
    """`caught` itself, the types that an `except*` is about to look for.

    The interpreter calls `split` of the group that is being handled and takes the answer for a
    tuple without looking, so a `split` of the user's own could corrupt memory.
    """
    group = sys.exception()
    if isinstance(group, BaseExceptionGroup) and (
        type(group) not in (BaseExceptionGroup, ExceptionGroup)
        or not {"derive", "split"}.isdisjoint(group.__dict__)
    ):
        raise TypeError("`except*` handles plain exception groups only") from None
    return caught
