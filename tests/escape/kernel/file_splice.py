"""Move bytes within the kernel with splice. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("splice", 0, None, 0, None, 16, 0) >= 0
