"""Become another program. Seccomp kills it."""

# stopped: killed
# alone: seccomp

os.execv("/bin/sh", ["sh", "-c", "exit 0"])
