"""(5) Builds sets and dicts from members that a hostile worker chose, in bounded time.

The hashes of numbers, and of values made of numbers, are the same in every process. Members can
therefore be chosen so that each new one is compared with all before it, and a set of them would
keep the host busy for hours. Strings and bytes are hashed with a secret and are safe. All others
are inserted a few at a time, with a bound on CPU time. A million ordinary members take a fraction
of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

# The CPU time for one result, in seconds of this thread; other threads do not count.
_MAX_SECONDS = 2.0
_CHUNK = 8
_SECRETLY_HASHED = frozenset((str, bytes))
# Members with one hash are compared, and comparing a large integer with a decimal is quadratic.
_MAX_MEMBER_BITS = 8192
_MAX_MEMBER_DIGITS = 2500


class HashedBuilder:
    """Builds the sets and dicts of one result."""

    def __init__(self) -> None:
        self._spent = 0.0

    def set_of(self, members: Sequence[Any]) -> set[Any]:
        """A set. Raises TypeError if a member has no hash, ValueError if it takes too long."""
        built: set[Any] = set()
        if _SECRETLY_HASHED.issuperset(map(type, members)):
            built.update(members)
            return built
        _check_members(members)
        started = time.thread_time()
        for start in range(0, len(members), _CHUNK):
            built.update(members[start : start + _CHUNK])
            self._check_time(started)
        self._spent += time.thread_time() - started
        return built

    def dict_of(self, keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
        """A dict; raises as `set_of` does."""
        built: dict[Any, Any] = {}
        _check_members(keys)
        started = time.thread_time()
        for start in range(0, len(keys), _CHUNK):
            end = start + _CHUNK
            built.update(zip(keys[start:end], values[start:end], strict=True))
            self._check_time(started)
        self._spent += time.thread_time() - started
        return built

    def _check_time(self, started: float) -> None:
        if self._spent + time.thread_time() - started > _MAX_SECONDS:
            raise ValueError("keys or members whose hashes collide")


def _check_members(members: Iterable[Any]) -> None:
    """Raise ValueError if comparing a member with another one could take long."""
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
