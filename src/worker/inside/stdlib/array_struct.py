"""(4) `array` and `struct`: library types that user code could use to corrupt memory.

Both call user code (`__index__`) in the middle of an operation and do not expect that it changes
them: it may empty the array, or initialize the Struct again. They would then write to memory that
they no longer own. So user space gets objects that wrap a private library object and pass only
plain numbers to it.
"""

from __future__ import annotations

import array as library_array
import operator
import struct
from collections.abc import Callable, Iterable, Iterator, MutableSequence
from typing import Any

from caps.worker.inside.stdlib.instance_methods import instances_only


@instances_only
class Struct:
    """`struct.Struct`; a second `__init__` stores a new one, and the old one completes its call."""

    __slots__ = ("_struct",)

    def __init__(self, format: str | bytes) -> None:  # noqa: A002 - the library's own name
        self._struct = struct.Struct(format)

    @property
    def format(self) -> str:
        return self._struct.format

    @property
    def size(self) -> int:
        return self._struct.size

    def __repr__(self) -> str:
        return f"Struct({self._struct.format!r})"

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


_TEXT_CODES = ("u", "w")  # the second from Python 3.13 on


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("array item must be a unicode character")
    return "".join((value, ""))


def _bytes(buffer: Any) -> bytes:
    # Not `bytes(buffer)`: a number would be a count of zeros.
    return bytes(memoryview(buffer))


def _converter_for(typecode: str) -> Callable[[Any], Any]:
    if typecode in _TEXT_CODES:
        return _text
    return float if typecode in "df" else operator.index


@instances_only
class array:  # noqa: N801 - the name that user space sees
    """`array.array` without the buffer interface; use `tobytes`."""

    __slots__ = ("_array", "_convert")

    def __init__(self, typecode: str, initializer: Any = (), /) -> None:
        real: Any = library_array.array(_text(typecode))
        self._array, self._convert = real, _converter_for(real.typecode)
        if isinstance(initializer, str) and real.typecode not in _TEXT_CODES:
            raise TypeError(
                f"cannot use a str to initialize an array with typecode {real.typecode!r}"
            )
        if isinstance(initializer, (bytes, bytearray)):
            real.frombytes(initializer)
        else:
            self.extend(initializer)

    @property
    def typecode(self) -> str:
        return str(self._array.typecode)

    @property
    def itemsize(self) -> int:
        return int(self._array.itemsize)

    def append(self, value: Any, /) -> None:
        converted = self._convert(value)
        self._array.append(converted)

    def extend(self, values: Iterable[Any], /) -> None:
        converted = self._plain_array(values)
        self._array.extend(converted)

    fromlist = fromunicode = extend

    def frombytes(self, buffer: Any, /) -> None:
        self._array.frombytes(buffer.tobytes() if isinstance(buffer, array) else _bytes(buffer))

    def insert(self, index: int, value: Any, /) -> None:
        position, converted = operator.index(index), self._convert(value)
        self._array.insert(position, converted)

    def pop(self, index: int = -1, /) -> Any:
        position = operator.index(index)
        return self._array.pop(position)

    def remove(self, value: Any, /) -> None:
        position = self.index(value)  # comparing may have run user code
        if position < len(self._array):
            del self._array[position]

    def index(self, value: Any, /, *bounds: int) -> int:
        """The first position of `value`, compared with a copy of the items."""
        try:
            return int(self._array.tolist().index(value, *bounds))
        except ValueError:
            raise ValueError("array.index(x): x not in array") from None

    def count(self, value: Any, /) -> int:
        return int(self._array.tolist().count(value))

    def reverse(self) -> None:
        self._array.reverse()

    def byteswap(self) -> None:
        self._array.byteswap()

    def tobytes(self) -> bytes:
        return bytes(self._array.tobytes())

    def tolist(self) -> list[Any]:
        return list(self._array.tolist())

    def tounicode(self) -> str:
        return str(self._array.tounicode())

    def _plain_array(self, values: Iterable[Any]) -> Any:
        """The values as plain numbers, in a new array that user code cannot reach."""
        if isinstance(values, array):
            if values.typecode != self.typecode:
                raise TypeError("can only extend with an array of the same kind")
            return values._array[:]
        return library_array.array(self._array.typecode, [self._convert(one) for one in values])

    def _plain_index(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return operator.index(index)
        ends = (index.start, index.stop, index.step)
        return slice(*(None if end is None else operator.index(end) for end in ends))

    def _wrap(self, real: Any) -> array:
        wrapper = array(self.typecode)
        wrapper._array = real
        return wrapper

    def __getitem__(self, index: Any) -> Any:
        found = self._array[self._plain_index(index)]
        return self._wrap(found) if isinstance(index, slice) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        position = self._plain_index(index)
        is_slice = isinstance(index, slice)
        converted = self._plain_array(value) if is_slice else self._convert(value)
        self._array[position] = converted

    def __delitem__(self, index: Any) -> None:
        position = self._plain_index(index)
        del self._array[position]

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        position = 0
        while position < len(self._array):
            yield self._array[position]
            position += 1

    def __contains__(self, value: Any) -> bool:
        return value in self._array.tolist()

    def __add__(self, other: Any) -> array:
        if not isinstance(other, array):
            return NotImplemented
        return self._wrap(self._array + other._array)

    def __iadd__(self, other: Any) -> array:
        if not isinstance(other, array):
            raise TypeError(f'can only extend with array (not "{type(other).__name__}")')
        self.extend(other)
        return self

    def __imul__(self, times: Any) -> array:
        self._array *= operator.index(times)
        return self

    def __mul__(self, times: Any) -> array:
        return self._wrap(self._array * operator.index(times))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, array):
            return NotImplemented
        return bool(self._array == other._array)

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, array):
            return NotImplemented
        return bool(self._array < other._array)

    def __le__(self, other: Any) -> bool:
        if not isinstance(other, array):
            return NotImplemented
        return bool(self._array <= other._array)

    def __gt__(self, other: Any) -> bool:
        if not isinstance(other, array):
            return NotImplemented
        return bool(self._array > other._array)

    def __ge__(self, other: Any) -> bool:
        if not isinstance(other, array):
            return NotImplemented
        return bool(self._array >= other._array)

    __hash__ = None  # type: ignore[assignment]

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __copy__(self) -> array:
        return self._wrap(self._array[:])

    def __deepcopy__(self, _memo: Any) -> array:
        return self._wrap(self._array[:])

    def __repr__(self) -> str:
        return repr(self._array)


# As in the library: patterns for sequences match it.
MutableSequence.register(array)


def array_names(_context: Any) -> dict[str, Any]:
    """The replacements in `array`."""
    return {"array": array}


def struct_names(_context: Any) -> dict[str, Any]:
    """The replacements in `struct`."""
    return {"Struct": Struct}
