"""Drop the memory of another process. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("process_madvise", 0, None, 0, 4, 0) >= 0
