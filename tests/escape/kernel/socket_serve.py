"""Offer a service on the loopback. Seccomp kills it; Landlock refuses to bind."""

# stopped: killed
# alone: landlock seccomp rlimits
# control: works

import socket

server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
server.bind(("127.0.0.1", 0))
"bound"
