"""Release a view by the position that is read."""

# stopped: raises ValueError
# because: operation forbidden on released memoryview object

class C:
    def __index__(self): view.release(); data.clear(); return 5_000
data = bytearray(10_000)
view = memoryview(data)
view[C()]
