"""Become root. Seccomp kills it; no capability allows it."""

# stopped: killed
# alone: identity seccomp

os.setuid(0)
"root"
