"""Give the result byte by byte, and never the last one."""

# stopped: limited wall_ms
# limits: {"wall_ms": 300}

import time

for byte in liar.result("x")[:-1]:
    liar.raw(bytes([byte]))
    time.sleep(0.001)
