"""Give the result byte by byte, and never the last one."""

# stopped: limited wall_ms
# limits: {"wall_ms": 300}

import time

for byte in worker.result("x")[:-1]:
    worker.raw(bytes([byte]))
    time.sleep(0.001)
