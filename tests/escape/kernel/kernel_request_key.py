"""Have the kernel call its key helper. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("request_key", b"user", b"caps", None, -2) >= 0
