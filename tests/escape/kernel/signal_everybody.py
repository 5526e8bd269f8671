"""Probe every process there is. Seccomp kills it."""

# stopped: killed

os.kill(-1, 0)
"sent"
