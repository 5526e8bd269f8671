"""Make a pair of sockets. Seccomp kills it."""

# stopped: killed
# alone: seccomp rlimits
# control: works

import socket

[end.fileno() for end in socket.socketpair()]
