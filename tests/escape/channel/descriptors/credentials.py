"""Send the credentials of a process along with the result."""

# stopped: harmless
# value: "claimed"

import os
import socket
import struct

claimed = (
    socket.SOL_SOCKET,
    socket.SCM_CREDENTIALS,
    struct.pack("3i", os.getpid(), os.getuid(), os.getgid()),
)
with socket.socket(fileno=os.dup(CHANNEL)) as channel:
    channel.sendmsg([worker.result("claimed")], [claimed])
