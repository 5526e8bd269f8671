"""Empty bytes by the position that is written to."""

# stopped: raises IndexError
# because: bytearray index out of range

class C:
    def __index__(self): data.clear(); return 5_000
data = bytearray(10_000)
data[C()] = 65
