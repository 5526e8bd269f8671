"""Exit by a signal while the code runs."""

# stopped: lost
# started: true

import os
import signal

os.kill(os.getpid(), signal.SIGKILL)
