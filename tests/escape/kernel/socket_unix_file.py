"""Make a named socket that others can connect to. Seccomp kills it; Landlock refuses the name."""

# stopped: killed
# alone: root landlock seccomp rlimits
# control: works

import socket

server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
server.bind(HOST["directory"] + "/escaped")
"bound"
