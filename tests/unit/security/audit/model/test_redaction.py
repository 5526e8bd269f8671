"""Values are hidden behind keyed digests unless their capability shows them."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest
import rfc8785

from caps.security.audit import Redactor
from caps.security.audit.model.redaction import MAX_FIELDS, OTHER_FIELDS
from support.audit_examples import REDACTOR


def test_the_digest_is_hmac_over_canonical_json() -> None:
    """Anyone with the key can recompute it with a JCS library."""
    value = {"b": [1, 2.5, None], "a": "é\u2028"}
    mac = hmac.new(b"k" * 32, rfc8785.dumps(value), hashlib.sha256)
    assert REDACTOR.digest(value) == f"hmac-sha256:{mac.hexdigest()}"


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("value", [0, -1, 2**53 - 1, True, "x", {"a": 1}, [1]])
def test_the_digest_is_hmac_for_keys_of_every_length(length: int, value: Any) -> None:
    """Shorter than a block of the hash, as long, and longer."""
    key = b"k" * length
    mac = hmac.new(key, rfc8785.dumps(value), hashlib.sha256)
    assert Redactor(key).digest(value) == f"hmac-sha256:{mac.hexdigest()}"


def test_equal_values_have_equal_digests() -> None:
    """The order of an object's fields does not matter."""
    assert REDACTOR.digest({"a": 1, "b": 2}) == REDACTOR.digest({"b": 2, "a": 1})


def test_different_keys_give_different_digests() -> None:
    """Without the key a value cannot be guessed."""
    assert Redactor(b"1" * 32).digest("x") != Redactor(b"2" * 32).digest("x")


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ODD_VALUES = [
    2**53,
    -(2**64),
    1 << 100_000,
    float("nan"),
    float("inf"),
    float("-inf"),
    "\ud800",
    "\udfff",
    {"\ud800": 1},
    {"\ud800": 2},
    [2**53, True],
    [2**53, 1],
    [2**53, None],
    [2**53, "1"],
    [2**53, [1]],
    {1: 2},
    b"bytes",
    nested(5000),
    nested(5001),
]


def test_values_that_json_cannot_spell_have_distinct_digests() -> None:
    """The tagged encoding never fails, and keeps different values apart."""
    digests = [REDACTOR.digest(value) for value in ODD_VALUES]
    assert len(set(digests)) == len(ODD_VALUES)
    assert digests == [REDACTOR.digest(value) for value in ODD_VALUES]


def test_the_tagged_encoding_ignores_the_order_of_fields() -> None:
    """Equal values have equal digests there too."""
    one, two = {"a": 2**60, "b": 1}, {"b": 1, "a": 2**60}
    assert REDACTOR.digest(one) == REDACTOR.digest(two)


def test_only_named_scalars_are_shown() -> None:
    """Everything else is a digest, field by field, and the whole has its own."""
    payload = {"path": "a.txt", "options": {"deep": "secret"}, "content": "secret", "n": 3}
    shown, hidden, whole = REDACTOR.split(payload, ("path", "options", "n", "absent"))
    assert shown == {"path": "a.txt", "n": 3}
    assert hidden == {
        "options": REDACTOR.digest({"deep": "secret"}),
        "content": REDACTOR.digest("secret"),
    }
    assert whole == REDACTOR.digest(payload)


def test_a_shown_float_is_a_text() -> None:
    """Records hold no floats."""
    assert REDACTOR.split({"x": 1.5}, ("x",)).shown == {"x": "1.5"}


def test_hostile_names_stay_apart() -> None:
    """A name cannot pass for another one by its escape."""
    hidden = REDACTOR.split({"é": 1, "\\xe9": 2, OTHER_FIELDS: 3, "\ud800": 4}, ()).hidden
    assert len(hidden) == 4
    assert all(name.isascii() for name in hidden)
    assert OTHER_FIELDS not in hidden


def test_long_names_that_start_alike_stay_apart() -> None:
    """Names are cut, but not to one."""
    hidden = REDACTOR.split({"n" * 9000 + "a": 1, "n" * 9000 + "b": 2}, ()).hidden
    assert len(hidden) == 2
    assert max(map(len, hidden)) < 256


def test_many_fields_share_one_digest() -> None:
    """A call cannot blow up its record with fields."""
    payload = {f"f{n}": n for n in range(10_000)}
    hidden = REDACTOR.split(payload, ()).hidden
    assert len(hidden) == MAX_FIELDS + 1
    assert hidden[OTHER_FIELDS] == REDACTOR.digest({f"f{n}": n for n in range(MAX_FIELDS, 10_000)})


def test_the_key_is_not_in_the_repr() -> None:
    """A redactor that is printed by accident says nothing."""
    assert "kkk" not in repr(REDACTOR)


def test_small_values_differ_from_each_other() -> None:
    """Emptiness has a type."""
    values: list[object] = ["", 0, False, None, [], {}]
    assert len({REDACTOR.digest(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    "payload",
    [{}, {"a": 1}, {"a": "é", "b": [0.5]}, {f"name {n}": n for n in range(3 * MAX_FIELDS)}],
)
@pytest.mark.parametrize("shown", [(), ("a",)])
def test_a_payload_that_was_hashed_before_gives_the_same(
    payload: dict[str, Any], shown: tuple[str, ...]
) -> None:
    """Also when it is asked for with other shown fields, which it was not hashed for."""
    hashed = REDACTOR.hashed(payload, ("a",))
    assert hashed == payload
    assert REDACTOR.split(hashed, shown) == REDACTOR.split(payload, shown)
    assert REDACTOR.digest(hashed) == REDACTOR.digest(payload)
