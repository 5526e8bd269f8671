"""Make a pair of sockets. Seccomp kills it."""

# stopped: killed
# control: works

import socket

[end.fileno() for end in socket.socketpair()]
