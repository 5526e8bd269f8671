"""Become root for files alone. Seccomp refuses it."""

# stopped: refused

raw("setfsuid", 0) >= 0
