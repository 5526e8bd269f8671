"""(4) array and struct: types of the library that user code could turn against the interpreter.

Both call code of the user's in the middle of their work (`__index__`), and do not expect to find
themselves changed after it: an array emptied, a Struct made anew. They would write to memory that
is no longer theirs. So user space gets objects that keep one to themselves, and what they hand on
is a plain number.
"""

from __future__ import annotations

import array as library_array
import operator
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Struct:
    """`struct.Struct`; made anew it keeps a new one, and the old one ends its work."""

    __slots__ = ("_struct",)

    def __init__(self, format: str | bytes) -> None:  # noqa: A002 - the library's own name
        self._struct = struct.Struct(format)

    @property
    def format(self) -> str:
        return self._struct.format

    @property
    def size(self) -> int:
        return self._struct.size

    def pack(self, *values: Any) -> bytes:
        return self._struct.pack(*values)

    def pack_into(self, buffer: Any, offset: int, *values: Any) -> None:
        self._struct.pack_into(buffer, offset, *values)

    def unpack(self, buffer: Any) -> tuple[Any, ...]:
        return self._struct.unpack(buffer)

    def unpack_from(self, buffer: Any, offset: int = 0) -> tuple[Any, ...]:
        return self._struct.unpack_from(buffer, offset)

    def iter_unpack(self, buffer: Any) -> Iterator[tuple[Any, ...]]:
        return self._struct.iter_unpack(buffer)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("array item must be a unicode character")
    return "".join((value, ""))


def _number_of(typecode: str) -> Callable[[Any], Any]:
    if typecode == "u":
        return _text
    return float if typecode in "df" else operator.index


class array:  # noqa: N801 - the name that user space sees
    """`array.array`, without its buffer: `tobytes` gives the bytes."""

    __slots__ = ("_held", "_number")

    def __init__(self, typecode: str, initializer: Any = (), /) -> None:
        held: Any = library_array.array(_text(typecode))
        self._held, self._number = held, _number_of(held.typecode)
        if isinstance(initializer, (bytes, bytearray)):
            held.frombytes(initializer)
        else:
            self.extend(initializer)

    @property
    def typecode(self) -> str:
        return str(self._held.typecode)

    @property
    def itemsize(self) -> int:
        return int(self._held.itemsize)

    def append(self, value: Any, /) -> None:
        plain = self._number(value)
        self._held.append(plain)

    def extend(self, values: Iterable[Any], /) -> None:
        plain = self._plain(values)
        self._held.extend(plain)

    fromlist = fromunicode = extend

    def frombytes(self, buffer: Any, /) -> None:
        self._held.frombytes(bytes(buffer))

    def insert(self, index: int, value: Any, /) -> None:
        where, plain = operator.index(index), self._number(value)
        self._held.insert(where, plain)

    def pop(self, index: int = -1, /) -> Any:
        where = operator.index(index)
        return self._held.pop(where)

    def remove(self, value: Any, /) -> None:
        self._held.remove(self._number(value))

    def index(self, value: Any, /) -> int:
        return int(self._held.index(self._number(value)))

    def count(self, value: Any, /) -> int:
        return int(self._held.tolist().count(value))

    def reverse(self) -> None:
        self._held.reverse()

    def byteswap(self) -> None:
        self._held.byteswap()

    def tobytes(self) -> bytes:
        return bytes(self._held.tobytes())

    def tolist(self) -> list[Any]:
        return list(self._held.tolist())

    def tounicode(self) -> str:
        return str(self._held.tounicode())

    def _plain(self, values: Iterable[Any]) -> Any:
        """Numbers that are nobody's objects, in a list that nobody else holds."""
        if isinstance(values, array):
            if values.typecode != self.typecode:
                raise TypeError("can only extend with an array of the same kind")
            return values._held[:]
        return library_array.array(self._held.typecode, [self._number(one) for one in values])

    def _place(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return operator.index(index)
        ends = (index.start, index.stop, index.step)
        return slice(*(None if end is None else operator.index(end) for end in ends))

    def _like(self, held: Any) -> array:
        made = array(self.typecode)
        made._held = held
        return made

    def __getitem__(self, index: Any) -> Any:
        found = self._held[self._place(index)]
        return self._like(found) if isinstance(index, slice) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        place = self._place(index)
        plain = self._plain(value) if isinstance(index, slice) else self._number(value)
        self._held[place] = plain

    def __delitem__(self, index: Any) -> None:
        place = self._place(index)
        del self._held[place]

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Any]:
        place = 0
        while place < len(self._held):
            yield self._held[place]
            place += 1

    def __contains__(self, value: Any) -> bool:
        return value in self._held.tolist()

    def __add__(self, other: Any) -> array:
        if not isinstance(other, array):
            return NotImplemented
        return self._like(self._held + other._held)

    def __iadd__(self, other: Any) -> array:
        self.extend(other)
        return self

    def __mul__(self, times: Any) -> array:
        return self._like(self._held * operator.index(times))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, array):
            return NotImplemented
        return bool(self._held == other._held)

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, array):
            return NotImplemented
        return bool(self._held < other._held)

    __hash__ = None  # type: ignore[assignment]

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __copy__(self) -> array:
        return self._like(self._held[:])

    def __deepcopy__(self, _memo: Any) -> array:
        return self._like(self._held[:])

    def __repr__(self) -> str:
        return repr(self._held)


def array_names(_surroundings: Any) -> dict[str, Any]:
    """What `array` has in place of the library's own."""
    return {"array": array}


def struct_names(_surroundings: Any) -> dict[str, Any]:
    """What `struct` has in place of the library's own."""
    return {"Struct": Struct}
