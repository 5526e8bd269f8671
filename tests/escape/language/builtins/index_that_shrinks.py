"""Shrink a buffer while an index into it is being made."""

# stopped: raises IndexError
# because: bytearray index out of range

held = bytearray(8)
class I:
    def __index__(self):
        held.clear()
        return 4
held[I()] = 1
escaped()
