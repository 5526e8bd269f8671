"""Mount by the newer calls: fsmount. Seccomp kills it."""

# stopped: killed

raw("fsmount", 0, 0, 0) >= 0
