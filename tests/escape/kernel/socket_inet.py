"""Make a TCP socket. Seccomp kills it; the network namespace is empty; Landlock denies TCP."""

# stopped: killed
# alone: seccomp rlimits
# control: works

import socket

socket.socket(socket.AF_INET, socket.SOCK_STREAM).fileno() >= 0
