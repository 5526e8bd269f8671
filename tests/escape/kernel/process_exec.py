"""Become another program. Seccomp kills it."""

# stopped: killed

os.execv("/bin/sh", ["sh", "-c", "exit 0"])
