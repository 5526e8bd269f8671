"""Put a key into a keyring. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("add_key", b"user", b"caps", b"x", 1, -2) >= 0
