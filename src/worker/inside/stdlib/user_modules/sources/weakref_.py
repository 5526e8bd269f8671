"""`weakref` of user space, on plain weak references (`engines.weak_references`).

The collections forget what has died when they are next used, not at the moment of its death.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSet
from typing import Any, ClassVar

from caps.worker.inside.stdlib.user_modules.engines.weak_references import make_weak_reference

_GONE = "weakly-referenced object no longer exists"


class ReferenceType:
    """A weak reference: calling it gives the object, or None."""

    def __init__(
        self, target: Any, callback: Callable[[ReferenceType], Any] | None = None, /
    ) -> None:
        self._kind = type(target).__name__
        self._place = id(target)
        self._hash: int | None = None
        called = None if callback is None else (lambda: callback(self))
        self._get = make_weak_reference(target, called)

    def __call__(self) -> Any:
        return self._get()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReferenceType):
            return NotImplemented
        mine, theirs = self(), other()
        if mine is None or theirs is None:
            return self is other
        return bool(mine == theirs)

    def __hash__(self) -> int:
        if self._hash is None:
            target = self()
            if target is None:
                raise TypeError("weak object has gone away")
            self._hash = hash(target)
        return self._hash

    def __copy__(self) -> ReferenceType:
        return self

    def __repr__(self) -> str:
        state = "dead" if self() is None else f"to '{self._kind}' at {hex(self._place)}"
        return f"<weakref at {hex(id(self))}; {state}>"


ref = ReferenceType


class WeakMethod:
    """A weak reference to a bound method."""

    def __init__(self, method: Any, callback: Callable[[WeakMethod], Any] | None = None, /) -> None:
        called = None if callback is None else (lambda _dead: callback(self))
        self._owner = ref(method.__self__, called)
        self._function = method.__func__

    def __call__(self) -> Any:
        owner = self._owner()
        return None if owner is None else self._function.__get__(owner, type(owner))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeakMethod):
            return NotImplemented
        return self._owner == other._owner and self._function is other._function

    def __hash__(self) -> int:
        return hash((self._owner, self._function))


class ProxyType:
    """Stands for an object without keeping it alive: attributes and the common operations."""

    def __init__(self, target: Any, callback: Callable[[Any], Any] | None = None, /) -> None:
        called = None if callback is None else (lambda _dead: callback(self))
        object.__setattr__(self, "_proxied", ref(target, called))

    def __getattr__(self, name: str) -> Any:
        return getattr(_alive(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_alive(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_alive(self), name)

    def __str__(self) -> str:
        return str(_alive(self))

    def __repr__(self) -> str:
        return f"<weakproxy at {hex(id(self))} to {type(_alive(self)).__name__}>"

    def __bool__(self) -> bool:
        return bool(_alive(self))

    def __len__(self) -> int:
        return len(_alive(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(_alive(self))

    def __contains__(self, item: Any) -> bool:
        return item in _alive(self)

    def __getitem__(self, key: Any) -> Any:
        return _alive(self)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        _alive(self)[key] = value

    def __delitem__(self, key: Any) -> None:
        del _alive(self)[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _alive(self)(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        theirs = _alive(other) if isinstance(other, ProxyType) else other
        return bool(_alive(self) == theirs)

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'weakref.ProxyType'")


proxy = ProxyType


def _alive(one: Any) -> Any:
    target = one._proxied()
    if target is None:
        raise ReferenceError(_GONE)
    return target


class WeakValueDictionary(MutableMapping[Any, Any]):
    """A mapping whose entries vanish with their values."""

    def __init__(self, other: Any = (), /, **items: Any) -> None:
        self._references: dict[Any, ReferenceType] = {}
        self.update(other, **items)

    def _living(self) -> dict[Any, Any]:
        found = {key: one() for key, one in list(self._references.items())}
        living = {key: value for key, value in found.items() if value is not None}
        if len(living) < len(self._references):
            self._references = {key: self._references[key] for key in living}
        return living

    def __getitem__(self, key: Any) -> Any:
        value = self._references[key]()
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        self._references[key] = ref(value)

    def __delitem__(self, key: Any) -> None:
        self[key]
        del self._references[key]

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return len(self._living())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._living())

    def copy(self) -> WeakValueDictionary:
        return WeakValueDictionary(self._living())

    def valuerefs(self) -> list[ReferenceType]:
        self._living()
        return list(self._references.values())

    itervaluerefs = valuerefs

    def __or__(self, other: Mapping[Any, Any]) -> WeakValueDictionary:
        both = self.copy()
        both.update(other)
        return both

    def __repr__(self) -> str:
        return f"<WeakValueDictionary at {hex(id(self))}>"


class WeakKeyDictionary(MutableMapping[Any, Any]):
    """A mapping whose entries vanish with their keys."""

    def __init__(self, other: Any = ()) -> None:
        self._values: dict[ReferenceType, Any] = {}
        self.update(other)

    def _forget(self) -> None:
        if any(one() is None for one in list(self._values)):
            self._values = {one: value for one, value in self._values.items() if one() is not None}

    def __getitem__(self, key: Any) -> Any:
        return self._values[ref(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._forget()
        self._values[ref(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self._values[ref(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return ref(key) in self._values
        except TypeError:  # nothing that cannot be referenced is in here
            return False

    def __len__(self) -> int:
        self._forget()
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        self._forget()
        return (key for one in list(self._values) if (key := one()) is not None)

    def keyrefs(self) -> list[ReferenceType]:
        self._forget()
        return list(self._values)

    def copy(self) -> WeakKeyDictionary:
        return WeakKeyDictionary(self)

    def __or__(self, other: Mapping[Any, Any]) -> WeakKeyDictionary:
        both = self.copy()
        both.update(other)
        return both

    def __repr__(self) -> str:
        return f"<WeakKeyDictionary at {hex(id(self))}>"


class WeakSet(MutableSet[Any]):
    """A set whose members vanish when nothing else holds them."""

    def __init__(self, items: Iterable[Any] | None = None) -> None:
        self._members = WeakKeyDictionary()
        self.update(items or ())

    def add(self, value: Any) -> None:
        self._members[value] = None

    def discard(self, value: Any) -> None:
        self._members.pop(value, None)

    def update(self, items: Iterable[Any]) -> None:
        for item in items:
            self.add(item)

    def copy(self) -> WeakSet:
        return WeakSet(self)

    def union(self, other: Iterable[Any]) -> WeakSet:
        return WeakSet([*self, *other])

    def __contains__(self, value: object) -> bool:
        return value in self._members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members)


class finalize:  # noqa: N801 - the library's name
    """Calls a function once: when its object dies, or when it is called itself.

    What is still alive at the end of the program is not finalized.
    """

    atexit = True
    _registry: ClassVar[dict[int, tuple[ReferenceType, Any, tuple[Any, ...], dict[str, Any]]]] = {}

    def __init__(self, obj: Any, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        number = self._number = max(self._registry, default=0) + 1
        registry = self._registry

        def call(_dead: Any) -> None:
            entry = registry.pop(number, None)
            if entry is not None:
                entry[1](*entry[2], **entry[3])

        registry[number] = (ref(obj, call), func, args, kwargs)

    @property
    def alive(self) -> bool:
        return self._number in self._registry

    def __call__(self, _: Any = None) -> Any:
        entry = self._registry.pop(self._number, None)
        return None if entry is None else entry[1](*entry[2], **entry[3])

    def peek(self) -> tuple[Any, ...] | None:
        entry = self._registry.get(self._number)
        target = None if entry is None else entry[0]()
        return None if entry is None or target is None else (target, *entry[1:])

    def detach(self) -> tuple[Any, ...] | None:
        found = self.peek()
        self._registry.pop(self._number, None)
        return found
