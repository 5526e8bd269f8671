"""Connect to the loopback. Seccomp kills it; the namespace's own loopback is down."""

# stopped: killed

import socket

socket.create_connection(("127.0.0.1", 9), timeout=1)
