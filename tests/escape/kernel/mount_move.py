"""Move a mount over the root. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("move_mount", -100, b"/", -100, b"/", 0) == 0
