"""Never send the last byte of the largest frame that there may be."""

# stopped: limited wall_ms
# touched: []
# limits: {"wall_ms": 300}

import struct

largest = 8 * 1024 * 1024 + 64 * 1024
worker.raw(struct.pack(">I", largest) + b"\x90" * (largest - 1))
