"""Empty bytes by the slice that is written."""

# stopped: harmless

class C:
    def __index__(self): data.clear(); return 5_000
data = bytearray(10_000)
data[C():] = b"x" * 10
data[C():C()] = data
None
