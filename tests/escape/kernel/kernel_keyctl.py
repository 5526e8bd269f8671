"""Read the session keyring. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("keyctl", 0, -3, 0, 0, 0) >= 0
