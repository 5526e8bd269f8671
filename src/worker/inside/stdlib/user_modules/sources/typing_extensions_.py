"""`typing_extensions` of user space: what later versions of Python have added to `typing`.

The loader adds all names of `typing`.
"""

from __future__ import annotations

import functools
import typing
import warnings
from collections.abc import Callable
from typing import Any

_Function = Callable[..., Any]


def override(method: Any, /) -> Any:
    """Mark a method as one that overrides another."""
    return method


def deprecated(message: str, /, *, category: Any = DeprecationWarning, stacklevel: int = 1) -> Any:
    """Warn when the decorated function is called."""

    def decorate(function: _Function) -> _Function:
        if category is None or isinstance(function, type):
            return function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(message, category=category, stacklevel=stacklevel + 1)
            return function(*args, **kwargs)

        return call

    return decorate


class _Form:
    """A form that this version of Python does not have: `Form[int]` is `int`."""

    def __getitem__(self, item: Any) -> Any:
        return item


ReadOnly: Any = getattr(typing, "ReadOnly", None) or _Form()
TypeIs: Any = getattr(typing, "TypeIs", None) or typing.TypeGuard
