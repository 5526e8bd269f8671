"""Never say that the code has started."""

# stopped: limited wall_ms
# when: before_start
# limits: {"wall_ms": 300}

import signal

signal.pause()
