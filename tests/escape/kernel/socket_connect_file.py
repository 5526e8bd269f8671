"""Connect to a socket of the host by its path. Seccomp kills it; the empty root has none."""

# stopped: killed
# alone: root seccomp rlimits
# control: works

import socket

client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
client.connect(HOST["socket"])
"connected"
