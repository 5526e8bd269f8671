"""(4) Records: what a provider's object is in user space, read-only and easy to read."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest

from caps.worker.inside.caps_api.record import Record, record_of


@pytest.fixture
def record() -> Record:
    made = record_of(
        {"path": "a.txt", "info": {"size": 3}, "tags": ["x", {"name": "y"}], "items": [1]}
    )
    assert isinstance(made, Record)
    return made


def test_fields_are_attributes_and_items(record: Record) -> None:
    """`r.path` and `r["path"]` are the same thing."""
    assert (record.path, record["path"], record.get("path")) == ("a.txt",) * 3


def test_a_missing_item_is_an_error_with_the_names_that_there_are(record: Record) -> None:
    """As a note: the error itself is that of a dict."""
    with pytest.raises(KeyError) as caught:
        record["text"]
    assert caught.value.args == ("text",)
    assert caught.value.__notes__ == ["the record has path, info, tags, items"]
    with pytest.raises(KeyError) as caught:
        record_of({f"n{number}": 1 for number in range(100)})[3]
    assert caught.value.__notes__[0].endswith(", n15, …")
    assert record.get("text") is None
    assert "text" not in record


def test_nested_objects_are_records_too(record: Record) -> None:
    """Objects inside objects and inside lists answer to attributes as well."""
    assert (record.info.size, record.tags[1].name) == (3, "y")


def test_the_name_of_a_dict_method_is_reached_as_an_item(record: Record) -> None:
    """`items` stays the method; the field is `r["items"]`."""
    assert record["items"] == [1]
    assert dict(record.items())["items"] == [1]


@pytest.mark.parametrize("value", [None, 1, 1.5, "x", True, [1, [2]]])
def test_other_values_stay_what_they_are(value: object) -> None:
    """Only objects become records."""
    assert record_of(value) == value
    assert type(record_of(value)) is type(value)


def test_nothing_can_be_changed(record: Record) -> None:
    """Every way that a dict or an object has to change is refused, and nothing changes."""
    before = dict(record)
    changes: list[Callable[[], object]] = [
        lambda: record.__setitem__("path", "b"),
        lambda: record.__delitem__("path"),
        lambda: setattr(record, "path", "b"),
        lambda: delattr(record, "path"),
        lambda: record.__ior__({"path": "b"}),
        lambda: record.update(path="b"),
        lambda: record.pop("path"),
        record.popitem,
        record.clear,
        lambda: record.setdefault("new", 1),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="read-only"):
            change()
    assert dict(record) == before


def test_a_misspelt_field_names_the_nearest(record: Record) -> None:
    """A slip says what was meant."""
    with pytest.raises(AttributeError, match=r"no `pth`; did you mean `path`\?"):
        _ = record.pth


def test_an_unknown_field_lists_what_there_is(record: Record) -> None:
    """Without a near name, all names are given."""
    with pytest.raises(AttributeError, match="it has path, info, tags, items"):
        _ = record.zzz
    with pytest.raises(AttributeError, match="it has nothing"):
        _ = Record().zzz


def test_hasattr_tells_whether_a_field_is_there(record: Record) -> None:
    """The usual question works."""
    assert (hasattr(record, "path"), hasattr(record, "nope")) == (True, False)


def test_repr_shows_the_fields() -> None:
    """What is printed can be read."""
    assert repr(record_of({"a": 1, "b": {"c": "x"}})) == "Record(a=1, b=Record(c='x'))"


def test_dir_lists_the_fields(record: Record) -> None:
    """Fields come with the methods of a dict, and nothing private."""
    listed = dir(record)
    assert {"path", "info", "items", "keys"} <= set(listed)
    assert [name for name in listed if name.startswith("_")] == []


def test_a_plain_dict_is_one_call_away(record: Record) -> None:
    """`dict(r)`, `r.copy()` and `r | {}` can be changed, and leave the record alone."""
    for plain in (dict(record), record.copy(), record | {"more": 1}):
        assert type(plain) is dict
        plain["path"] = "b"
    assert record.path == "a.txt"


def test_it_is_json_as_it_stands(record: Record) -> None:
    """A record is a dict for code that expects one."""
    assert json.loads(json.dumps(record)) == record
    assert record == {**record}


def test_it_can_be_unpacked_and_matched(record: Record) -> None:
    """`**r` and `match` see a mapping."""
    match record:
        case {"path": path, "info": {"size": size}}:
            assert (path, size) == ("a.txt", 3)
        case _:
            pytest.fail("a record is a mapping")


def test_a_deep_copy_shares_nothing_that_can_change(record: Record) -> None:
    """Lists in a record can be changed, so a deep copy has its own."""
    again = copy.deepcopy(record)
    again.tags.append("more")
    assert isinstance(again, Record)
    assert len(record.tags) == 2
    assert copy.copy(record) == record
