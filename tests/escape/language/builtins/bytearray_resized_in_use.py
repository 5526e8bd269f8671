"""Resize a buffer while it is being read."""

# stopped: raises BufferError
# because: Existing exports of data: object cannot be re-sized

held = bytearray(8)
view = memoryview(held)
held.extend(b"x" * 100)
escaped()
