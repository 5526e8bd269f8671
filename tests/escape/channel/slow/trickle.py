"""Send a byte now and then, for ever: signs of life do not prolong it."""

# stopped: limited wall_ms
# touched: []
# limits: {"wall_ms": 300}

import struct
import time

worker.raw(struct.pack(">I", 1 << 20))
while True:
    worker.raw(b"\x90")
    time.sleep(0.01)
