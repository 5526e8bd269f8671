"""Release a view while it is written to."""

# stopped: raises ValueError
# because: operation forbidden on released memoryview object

class C:
    def __index__(self): view.release(); data.clear(); return 1
data = bytearray(10_000)
view = memoryview(data)
view[5_000] = C()
