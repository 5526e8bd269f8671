"""Watch a whole file system. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("fanotify_init", 0, 0) >= 0
