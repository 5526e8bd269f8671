"""Empty bytes by the length of what separates them."""

# stopped: raises TypeError
# because: `Separator` cannot change the length of a `str`

class Separator(str):
    def __len__(self): data.clear(); return 1
data = bytearray(b"A" * 5_000_000)
data.hex(Separator(":"))
