"""Values of a program as plain JSON."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from typing import Any

import pytest

from caps.security.policies.plain_json import JSON_ITEMS, NotJsonError, plain_json


def test_the_items_of_the_largest_policy_are_copied() -> None:
    """And not one more."""
    assert len(plain_json([1] * (JSON_ITEMS - 1))) == JSON_ITEMS - 1
    with pytest.raises(NotJsonError, match=f"more than {JSON_ITEMS} items"):
        plain_json([1] * JSON_ITEMS)


def test_containers_that_hold_each_other_do_not_grow_without_bound() -> None:
    """Thirty lists of two items each, which would be a thousand million."""
    value: list[Any] = [1]
    for _ in range(30):
        value = [value, value]
    with pytest.raises(NotJsonError, match="items"):
        plain_json(value)


class Failing(UserDict[str, Any]):
    """A mapping that cannot be read."""

    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError


def test_a_mapping_that_fails_is_not_json() -> None:
    """The error names its place and the kind of its own error."""
    with pytest.raises(NotJsonError, match="failed with `ZeroDivisionError`") as caught:
        plain_json({"a": [Failing()]})
    assert caught.value.path == ("a", 0)
