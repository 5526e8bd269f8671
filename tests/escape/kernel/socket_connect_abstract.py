"""Connect to an abstract socket of the host. Seccomp kills it; Landlock scopes them."""

# stopped: killed
# alone: namespaces landlock seccomp rlimits
# control: works

import socket

client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
client.connect(HOST["abstract"])
"connected"
