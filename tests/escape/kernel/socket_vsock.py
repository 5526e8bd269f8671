"""Talk to the hypervisor. Seccomp kills it; namespaces do not cover it everywhere."""

# stopped: killed
# alone: seccomp

import socket

socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).fileno() >= 0
