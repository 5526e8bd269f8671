"""The stand-ins in the library's modules: `csv.reader`, and the counting of `Counter`."""

from __future__ import annotations

import collections
import csv
from typing import Any

import pytest

from caps.worker.inside.stdlib.c_types.library import count_elements, reader, replace_in_libraries


def test_a_reader_gives_rows_and_says_where_it_is() -> None:
    """As the library's own does."""
    rows = reader(["a;b", "1;2"], delimiter=";")
    assert next(rows) == ["a", "b"]
    assert (rows.line_num, rows.dialect.delimiter) == (1, ";")
    assert list(rows) == [["1", "2"]]
    with pytest.raises(TypeError):
        reader(5)  # type: ignore[arg-type]


def test_a_reader_of_records_uses_it() -> None:
    """So its attribute `reader` cannot be re-entered either."""
    replace_in_libraries()
    records = csv.DictReader(["a,b", "1,2"])
    assert isinstance(vars(records)["reader"], reader)
    assert list(records) == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize("items", ["abca", [1, 1, "a"], [(1, 2), (1, 2)], iter("aab"), []])
@pytest.mark.parametrize("before", [{}, {"a": 2}])
def test_items_are_counted(items: Any, before: dict[Any, int]) -> None:
    """Plain ones, others, and on top of what was counted before."""
    items = list(items)
    counts = dict(before)
    count_elements(counts, iter(items))
    expected = dict(before)
    for item in items:
        expected[item] = expected.get(item, 0) + 1
    assert counts == expected
    replace_in_libraries()
    assert collections.Counter(items) == {item: items.count(item) for item in items}
