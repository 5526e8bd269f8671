"""Change disk quotas. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("quotactl", 0, None, 0, None) == 0
