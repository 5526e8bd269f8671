"""Bind an abstract name, which needs no file system. Seccomp kills it; Landlock scopes them."""

# stopped: killed
# alone: seccomp rlimits
# control: works

import socket

server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
server.bind(f"\0caps-escape-{os.getpid()}")
server.getsockname()
