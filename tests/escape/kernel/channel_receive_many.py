"""Receive a descriptor with recvmmsg. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("recvmmsg", 0, None, 0, 0x40, None) >= 0
