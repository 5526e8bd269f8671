"""The same by an enum that enums use themselves."""

# stopped: raises TypeError or raises ValueError
# because: <enum 'E'> cannot extend <enum 'FlagBoundary'>
# because: is not a valid FlagBoundary

from enum import FlagBoundary
type(FlagBoundary.KEEP)("E", ["__class__"], module="__main__")
