"""Receive a descriptor over the channel. Seccomp refuses recvmsg."""

# stopped: refused
# alone: seccomp

import socket

channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=0)
try:
    channel.recvmsg(1, socket.CMSG_SPACE(16), socket.MSG_DONTWAIT)
finally:
    channel.detach()
