"""Say nothing more."""

# stopped: limited wall_ms
# touched: []
# limits: {"wall_ms": 300}

import signal

signal.pause()
