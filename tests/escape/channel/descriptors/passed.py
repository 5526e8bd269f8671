"""Send descriptors along with every byte, for the host to hold."""

# stopped: harmless
# value: "passed"

import os
import socket
from array import array

passed = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [CHANNEL] * 16))
with socket.socket(fileno=os.dup(CHANNEL)) as channel:
    for byte in worker.result("passed"):
        channel.sendmsg([bytes([byte])], [passed])
