"""(5) The values that a result may hold on its way from the worker to the host: a closed set.

Sent unchanged: None, booleans, integers of any size, floats, strings, bytes, lists, tuples, sets,
frozensets, dicts with any of these as keys, and what `kinds` lists (dates, times, decimals,
fractions, complex numbers, uuids). Converted: a dataclass to a dict of its fields, an enum member
to its value, a subclass (a named tuple, a counter) to its base, a bytearray to bytes. Anything else
is refused with `TypeError`, and the worker then sends its `repr`, marked as such.

msgpack has no format for most of these. Integers beyond 64 bits are encoded as an extension, the
other kinds as arrays that begin with a mark (see `kinds`). A msgpack map has only string keys.
"""

from __future__ import annotations

from caps.protocol.values.decode import decode_value
from caps.protocol.values.encode import encode_value

__all__ = ["decode_value", "encode_value"]
