"""Mount /proc, to see processes again. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("mount", b"proc", b"/", b"proc", 0, None) == 0
