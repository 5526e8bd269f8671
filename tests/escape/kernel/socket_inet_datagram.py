"""Make a UDP socket. Seccomp kills it; the network namespace is empty."""

# stopped: killed
# alone: seccomp rlimits
# control: works

import socket

socket.socket(socket.AF_INET, socket.SOCK_DGRAM).fileno() >= 0
