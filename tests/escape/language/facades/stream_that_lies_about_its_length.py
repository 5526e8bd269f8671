"""Have a reader take more bytes than a stream has written, and keep its buffer."""

# stopped: harmless

import io
kept = []
class Raw(io.RawIOBase):
    def readable(self): return True
    def readinto(self, buffer):
        kept.append(buffer)
        return 1_000_000
found = Raw().read(10)
if len(found) > 10:
    escaped()
reader = io.BufferedReader(Raw())
if len(reader.read(4)) > 4:
    escaped()
del reader
for buffer in kept:
    buffer[:] = b"x" * 50
