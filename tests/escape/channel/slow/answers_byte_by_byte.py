"""Take the answers byte by byte."""

# stopped: harmless
# value: "taken"

import os

worker.raw(worker.touch(capability="files.read", payload={"path": "large.txt"}))
taken = b""
for _ in range(2000):
    taken += os.read(CHANNEL, 1)
while len(taken) < 500_000:
    taken += os.read(CHANNEL, 65536)
worker.finish("taken")
