"""Copy with copy_file_range. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("copy_file_range", 0, None, 0, None, 16, 0) >= 0
