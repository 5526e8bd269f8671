"""Close the channel one way, but stay and listen."""

# stopped: lost
# started: true

import os
import socket

with socket.socket(fileno=os.dup(CHANNEL)) as channel:
    channel.shutdown(socket.SHUT_WR)
