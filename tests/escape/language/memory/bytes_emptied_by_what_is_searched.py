"""Empty bytes by the number that is looked for."""

# stopped: lost or harmless or raises BufferError or raises ValueError
# where: worker

class C:
    def __index__(self): data.clear(); return 65
for search in ("find", "rfind", "index", "count") * 5:
    data = bytearray(b"B" * 5_000_000)
    getattr(data, search)(C())
None
