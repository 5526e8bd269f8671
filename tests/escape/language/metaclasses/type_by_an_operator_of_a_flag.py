"""Get the real `type` by an operator of a flag, called with classes."""

# stopped: raises TypeError
# because: a `Flag` was due, not a `type`

import enum

class Value:
    def __or__(self, other):
        return int

class C:
    _value_ = Value()
    _member_type_ = object
    _get_value = staticmethod(lambda other: other)

take(enum.Flag.__or__(C, C))
