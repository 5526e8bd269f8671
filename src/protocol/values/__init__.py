"""(5) What the code's result may be on its way to the host: a closed set of values.

As themselves: None, booleans, integers of any size, floats, text, bytes, lists, tuples, sets,
frozensets, dicts with any of these as keys, and what `value_kinds` lists (dates, times, decimals,
fractions, complex numbers, uuids). As something plainer: a dataclass as a dict of its fields, an
enum member as its value, a subclass (a named tuple, a counter) as its base, a bytearray as bytes.
Anything else is refused with `TypeError`, and the worker then sends its `repr`, marked as such.

msgpack has no form for most of this. Integers beyond 64 bits travel as an extension; the other
kinds as arrays that begin with a mark (see `value_kinds`). A msgpack map has text for keys.
"""

from __future__ import annotations

from caps.protocol.values.decode import decode_value
from caps.protocol.values.encode import encode_value

__all__ = ["decode_value", "encode_value"]
