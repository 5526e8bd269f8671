"""Have the name of a named tuple be code."""

# stopped: raises ValueError
# because: Type names and field names must be valid identifiers: 'N(escaped())'

from typing import NamedTuple
NamedTuple("N(escaped())", [("a", int)])
