"""Empty bytes while others are joined by them."""

# stopped: raises BufferError
# because: Existing exports of data: object cannot be re-sized

class C:
    def __iter__(self):
        for _ in range(10):
            data.clear()
            yield b"y"
data = bytearray(10_000)
data.join(C())
data.extend(C()) if False else None
