"""Mount by the newer calls: fsmount. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("fsmount", 0, 0, 0) >= 0
