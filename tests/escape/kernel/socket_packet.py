"""Listen to raw packets. Seccomp kills it."""

# stopped: killed

import socket

socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).fileno() >= 0
