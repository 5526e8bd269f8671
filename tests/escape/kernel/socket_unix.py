"""Make a unix socket. Seccomp kills it."""

# stopped: killed
# alone: seccomp rlimits
# control: works

import socket

socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).fileno() >= 0
