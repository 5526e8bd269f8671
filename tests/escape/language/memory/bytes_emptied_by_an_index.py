"""Empty bytes while one of them is written."""

# stopped: raises IndexError
# because: bytearray index out of range

class C:
    def __index__(self): data.clear(); return 65
data = bytearray(10_000)
data[5_000] = C()
