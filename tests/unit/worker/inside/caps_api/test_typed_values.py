"""Arguments of calls as JSON-like data, from values whose classes are of user code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from caps.worker.inside.caps_api.typed_values import to_json_like

ARRAY = {"type": "array", "items": {}}


class OwnIterator:
    """Its methods must not be called."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("a method of user code was called")


class OwnList(OwnIterator, list[int]):
    pass


class OwnTuple(OwnIterator, tuple[int, ...]):
    pass


class OwnSet(OwnIterator, set[int]):
    pass


class OwnFrozenset(OwnIterator, frozenset[int]):
    pass


@pytest.mark.parametrize("kind", [OwnList, OwnTuple, OwnSet, OwnFrozenset])
def test_the_items_are_those_that_a_container_holds(kind: Any) -> None:
    """Not those that its own `__iter__` gives, which may be without end."""
    assert to_json_like(kind([1]), ARRAY, {}) == [1]


class OwnBytes(bytes):
    def __bytes__(self) -> bytes:
        raise AssertionError("a method of user code was called")


class OwnBytearray(bytearray):
    def __bytes__(self) -> bytes:
        raise AssertionError("a method of user code was called")


@pytest.mark.parametrize("kind", [bytes, bytearray, OwnBytes, OwnBytearray])
def test_bytes_are_those_that_a_value_holds(kind: Any) -> None:
    """Not those of its own `__bytes__`."""
    assert to_json_like(kind(b"\x00\xff"), {"format": "base64url"}, {}) == "AP8="
