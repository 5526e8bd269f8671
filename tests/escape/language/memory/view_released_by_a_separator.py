"""Release a view by the length of what separates its bytes."""

# stopped: raises TypeError
# because: `Separator` cannot change the length of a `bytes`

class Length:
    def __len__(self): view.release(); data.clear(); return 1
class Separator(Length, bytes): pass
data = bytearray(b"A" * 5_000_000)
view = memoryview(data)
view.hex(Separator(b":"))
