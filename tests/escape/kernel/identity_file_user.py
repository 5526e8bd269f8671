"""Become root for files alone. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("setfsuid", 0) >= 0
