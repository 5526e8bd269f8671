"""Connect to a service of the host on the loopback.

Seccomp kills it; the namespace has a loopback of its own; Landlock refuses TCP.
"""

# stopped: killed
# alone: namespaces landlock seccomp rlimits
# control: works

import socket

socket.create_connection(("127.0.0.1", HOST["port"]), timeout=1).fileno() >= 0
