"""Change disk quotas. Seccomp kills it."""

# stopped: killed

raw("quotactl", 0, None, 0, None) == 0
