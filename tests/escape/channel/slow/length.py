"""Never complete a length."""

# stopped: limited wall_ms
# touched: []
# limits: {"wall_ms": 300}

worker.raw(b"\0\0")
