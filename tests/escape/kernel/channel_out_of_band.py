"""Send an urgent byte, a feature of unix sockets that has been used to escape from sandboxes.

Seccomp refuses sendto.
"""

# stopped: refused
# alone: seccomp

raw("sendto", 0, b"x", 1, 0x41, None, 0) == 1
