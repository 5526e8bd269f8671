"""Send an urgent byte, a corner of unix sockets that sandboxes were left by.

Seccomp refuses sendto.
"""

# stopped: refused
# alone: seccomp

raw("sendto", 0, b"x", 1, 0x41, None, 0) == 1
