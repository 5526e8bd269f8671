"""Shut one half of the channel and keep the other. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("shutdown", 0, 0) == 0
