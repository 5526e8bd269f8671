"""Run code that is the name of a field of a typed named tuple."""

# stopped: raises ValueError
# because: must be valid identifiers

from typing import NamedTuple
NamedTuple("N", [("x or __import__('os')", int)])
escaped()
