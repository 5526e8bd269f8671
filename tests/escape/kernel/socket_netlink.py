"""Talk to the kernel's routing. Seccomp kills it."""

# stopped: killed
# alone: seccomp rlimits
# control: works

import socket

socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).fileno() >= 0
