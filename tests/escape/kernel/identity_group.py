"""Join the group of root. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

os.setgid(0)
"root"
