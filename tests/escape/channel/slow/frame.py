"""Never send the last byte of a frame."""

# stopped: limited wall_ms
# touched: []
# limits: {"wall_ms": 300}

worker.raw(worker.touch()[:-1])
