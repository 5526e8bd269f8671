"""Have the fields of a named tuple be code."""

# stopped: raises ValueError
# because: Type names and field names must be valid identifiers: 'a=escaped()'

from typing import NamedTuple
NamedTuple("N", [("a=escaped()", int)])
