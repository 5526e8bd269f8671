"""Exit before the handshake."""

# stopped: lost
# started: false
# when: before_ready

import os

os._exit(9)
