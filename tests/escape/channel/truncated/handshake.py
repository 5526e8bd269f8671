"""End in the midst of the handshake."""

# stopped: violation truncated_frame
# when: before_ready

import os

liar.raw(liar.ready()[:-1])
os._exit(0)
