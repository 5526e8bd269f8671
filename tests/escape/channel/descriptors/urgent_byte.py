"""Send a byte out of band between two frames, which a real worker's filter refuses."""

# stopped: harmless
# value: "after"
# printed: before

import os
import socket

with socket.socket(fileno=os.dup(CHANNEL)) as channel:
    worker.say(OutputMessage, text="before")
    channel.send(b"!", socket.MSG_OOB)
    worker.finish("after")
