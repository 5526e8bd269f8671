"""Get the namespace of an enum while it is created."""

# stopped: harmless

from enum import Enum, auto
class E(Enum):
    def _generate_next_value_(name, start, count, last):
        take([name, start, count, last])
        return count
    A = auto()
    B = auto()
E.B.value == 5
