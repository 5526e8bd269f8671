"""Make a raw socket. Seccomp kills it; no capability allows it."""

# stopped: killed
# alone: identity privileges seccomp

import socket

socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).fileno() >= 0
