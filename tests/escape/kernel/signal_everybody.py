"""Probe every process there is. Seccomp kills it."""

# stopped: killed
# alone: seccomp

os.kill(-1, 0)
"sent"
