"""(4) Weak references. The library's own types are not handed out.

The comparison and the text of a reference in C use an object that user code may have freed
meanwhile, and a callback would run when any object of a library dies, in the middle of its work.
So a callback needs an object of a class of the user's own. Its attributes could hold a generator,
whose `finally` runs at the same moment.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from caps.worker.inside.aio.sealed import Sealed
from caps.worker.inside.language.guards import OwnClasses


class WeakReference(metaclass=Sealed):
    """A weak reference without any method but the call."""

    __slots__ = ("_real",)
    _real: weakref.ref[Any]

    def __init__(self, *_arguments: Any) -> None:
        raise TypeError("use `weakref.ref`")  # only the function below checks the target

    def __call__(self) -> Any:
        return self._real()


def weak_reference_maker(own: OwnClasses) -> Callable[[Any, Any], WeakReference]:
    """The function `make_weak_reference` of one execution."""

    def make_weak_reference(target: Any, callback: Any) -> WeakReference:
        kind = type(target)
        if callback is not None and not own.is_own(kind):
            raise TypeError(
                f"a callback needs an object of a class of your own, not a `{kind.__name__}`"
            )
        reference = object.__new__(WeakReference)
        called = None if callback is None else lambda _real: callback()
        reference._real = weakref.ref(target, called)
        return reference

    return make_weak_reference


# A reference to its first argument, which calls the second one, without arguments, when that dies.
make_weak_reference: Callable[[Any, Callable[[], Any] | None], WeakReference]
