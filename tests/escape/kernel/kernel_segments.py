"""Change the segment table, an old source of kernel bugs. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# only: x86_64

raw("modify_ldt", 0, ctypes.create_string_buffer(64), 64) >= 0
