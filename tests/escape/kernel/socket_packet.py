"""Listen to raw packets. Seccomp kills it."""

# stopped: killed
# alone: identity privileges seccomp

import socket

socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).fileno() >= 0
