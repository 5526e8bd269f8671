"""Send descriptors along with a request."""

# stopped: harmless
# value: ["ok"]

import os
import socket
from array import array

passed = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [CHANNEL] * 200))
with socket.socket(fileno=os.dup(CHANNEL)) as channel:
    channel.sendmsg([worker.touch(capability="probe.allowed")], [passed])
worker.finish([outcome(worker.answer())])
