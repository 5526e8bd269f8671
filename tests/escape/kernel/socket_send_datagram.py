"""Send a datagram to the host, which Landlock does not see.

Seccomp kills it; the network namespace has no route.
"""

# stopped: killed
# alone: namespaces seccomp rlimits
# control: works

import socket

sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(b"out", ("127.0.0.1", HOST["datagrams"]))
