"""Remove a kernel module. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("delete_module", b"caps_no_such_module", 0) == 0
