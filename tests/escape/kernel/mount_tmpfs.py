"""Mount a writable file system. Seccomp kills it."""

# stopped: killed
# alone: identity privileges seccomp

raw("mount", b"none", b"/", b"tmpfs", 0, None) == 0
