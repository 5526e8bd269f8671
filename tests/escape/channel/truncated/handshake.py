"""End in the middle of the handshake."""

# stopped: violation truncated_frame
# when: before_ready

import os

worker.raw(worker.ready()[:-1])
os._exit(0)
