"""Become root. Seccomp kills it; no capability allows it."""

# stopped: killed

os.setuid(0)
"root"
