"""Stop, as a process under a debugger does."""

# stopped: limited wall_ms
# limits: {"wall_ms": 300}

import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
