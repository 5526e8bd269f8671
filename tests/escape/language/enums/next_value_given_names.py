"""Get the dictionary of the class by the hook for the next value."""

# stopped: harmless

from enum import Enum, auto
class E(Enum):
    def _generate_next_value_(name, start, count, last): take(last); return name
    A = auto()
None
