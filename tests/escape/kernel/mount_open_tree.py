"""Copy a mount tree, to walk in it. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("open_tree", -100, b"/", 1) >= 0
