"""(4) Stand-ins that library code uses, too: they are put into the library's modules.

collections.Counter        its helper in C counts with values that user code may free meanwhile
csv.reader                 keeps the row that it is parsing while it asks user code for a line

Runs in the zygote, before any fork.
"""

from __future__ import annotations

import collections
import csv
import pprint
from collections.abc import Iterable, Iterator
from typing import Any

from caps.worker.inside.stdlib.c_types.default_dict import defaultdict
from caps.worker.inside.stdlib.c_types.ordered_dict import OrderedDict

_library_reader = csv.reader
_library_count: Any = collections._count_elements  # type: ignore[attr-defined]

# Comparing and hashing these runs no user code.
_PLAIN_KEYS: frozenset[type] = frozenset({bool, bytes, float, int, str, type(None)})


class reader:  # noqa: N801 - the name that user space sees
    """`csv.reader`; a generator drives the library's own, so that it cannot be re-entered."""

    __slots__ = ("_reader", "_rows")

    def __init__(self, iterable: Iterable[str], /, *dialect: Any, **options: Any) -> None:
        self._reader = _library_reader(iterable, *dialect, **options)
        self._rows = _rows(self._reader)

    @property
    def dialect(self) -> Any:
        return self._reader.dialect

    @property
    def line_num(self) -> int:
        return self._reader.line_num

    def __iter__(self) -> reader:
        return self

    def __next__(self) -> list[str]:
        return next(self._rows)


def _rows(library_reader: Any) -> Iterator[list[str]]:
    yield from library_reader


def count_elements(counts: dict[Any, int], iterable: Iterable[Any]) -> None:
    """Count `iterable` in `counts`: in C where no user code can run, otherwise as in Python."""
    items = iterable if type(iterable) in (str, list, tuple) else list(iterable)
    if not dict.__len__(counts) and _PLAIN_KEYS.issuperset(map(type, items)):
        _library_count(counts, items)
        return
    get = counts.get
    for item in items:
        counts[item] = get(item, 0) + 1


def replace_in_libraries() -> None:
    """Put the stand-ins into the library's modules."""
    library: Any = csv
    library.reader = reader
    library = collections
    library._count_elements = count_elements
    printer: Any = pprint.PrettyPrinter
    printer._dispatch[OrderedDict.__repr__] = printer._pprint_ordered_dict
    printer._dispatch[defaultdict.__repr__] = printer._pprint_default_dict
