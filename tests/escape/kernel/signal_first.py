"""Probe process 1, the zygote. Seccomp kills it; Landlock also scopes signals."""

# stopped: killed
# alone: seccomp

os.kill(1, 0)
"sent"
