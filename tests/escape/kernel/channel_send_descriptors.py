"""Send a descriptor to the host, which would have to hold it. Seccomp refuses sendmsg."""

# stopped: refused
# alone: seccomp

import array
import socket

channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=0)
passed = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))
try:
    channel.sendmsg([b"x"], [passed])
finally:
    channel.detach()
