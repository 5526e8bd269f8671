"""Remove a kernel module. Seccomp kills it."""

# stopped: killed

raw("delete_module", b"caps_no_such_module", 0) == 0
