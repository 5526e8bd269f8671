"""Read the session keyring. Seccomp kills it."""

# stopped: killed

raw("keyctl", 0, -3, 0, 0, 0) >= 0
