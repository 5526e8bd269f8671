"""The same by an enum that enums use themselves."""

# stopped: raises TypeError
# because: <enum 'E'> cannot extend <enum 'FlagBoundary'>

from enum import FlagBoundary
type(FlagBoundary.KEEP)("E", ["__class__"], module="__main__")
