"""Send a descriptor with sendmmsg. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("sendmmsg", 0, None, 0, 0) >= 0
