"""Reach the kernel's cryptography. Seccomp kills it."""

# stopped: killed
# alone: seccomp

import socket

socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).fileno() >= 0
