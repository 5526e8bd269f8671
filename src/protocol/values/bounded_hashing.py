"""(5) Sets and dicts of what a hostile worker chose, built in bounded time.

The hashes of numbers, and of what is made of numbers, are the same in every process. Members can
therefore be chosen so that each new one is held against all before it, and a set of them would keep
the host busy for hours. Text and bytes are hashed with a secret and are safe; all else is put in a
few at a time while the processor's time is watched. An honest million takes a fraction of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

# What one result may take, in seconds of this thread's own; others at work do not count.
_MOST_SECONDS = 2.0
_AT_ONCE = 8
_SECRETLY_HASHED = frozenset((str, bytes))
# Members with one hash are compared, and comparing a large integer with a decimal is quadratic.
_MAX_MEMBER_BITS = 8192
_MAX_MEMBER_DIGITS = 2500


class HashedBuilder:
    """Builds the sets and dicts of one result."""

    def __init__(self) -> None:
        self._spent = 0.0

    def set_of(self, members: Sequence[Any]) -> set[Any]:
        """A set. TypeError: a member that has no hash. ValueError: it takes too long."""
        built: set[Any] = set()
        if _SECRETLY_HASHED.issuperset(map(type, members)):
            built.update(members)
            return built
        _check_members(members)
        began = time.thread_time()
        for start in range(0, len(members), _AT_ONCE):
            built.update(members[start : start + _AT_ONCE])
            self._check_time(began)
        self._spent += time.thread_time() - began
        return built

    def dict_of(self, keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
        """A dict; raises as `set_of` does."""
        built: dict[Any, Any] = {}
        _check_members(keys)
        began = time.thread_time()
        for start in range(0, len(keys), _AT_ONCE):
            end = start + _AT_ONCE
            built.update(zip(keys[start:end], values[start:end], strict=True))
            self._check_time(began)
        self._spent += time.thread_time() - began
        return built

    def _check_time(self, began: float) -> None:
        if self._spent + time.thread_time() - began > _MOST_SECONDS:
            raise ValueError("keys or members whose hashes collide")


def _check_members(members: Iterable[Any]) -> None:
    """A ValueError if comparing a member with another could take long."""
    for member in members:
        kind = type(member)
        if kind is int:
            _check_size(member)
        elif kind is tuple:
            _check_members(member)
        elif kind is Fraction:
            _check_size(member.numerator)
            _check_size(member.denominator)
        elif kind is Decimal and len(member.as_tuple().digits) > _MAX_MEMBER_DIGITS:
            raise ValueError("a decimal is too long for a key or member")


def _check_size(number: int) -> None:
    if number.bit_length() > _MAX_MEMBER_BITS:
        raise ValueError("an integer is too large for a key or member")
