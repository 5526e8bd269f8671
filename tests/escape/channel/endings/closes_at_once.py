"""Close the channel and stay."""

# stopped: lost
# started: true

import os
import signal

os.close(CHANNEL)
signal.pause()
