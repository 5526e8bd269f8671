"""Make an IPv6 socket. Seccomp kills it."""

# stopped: killed
# alone: seccomp

import socket

socket.socket(socket.AF_INET6, socket.SOCK_STREAM).fileno() >= 0
