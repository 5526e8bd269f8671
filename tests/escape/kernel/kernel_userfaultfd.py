"""Handle page faults, which makes races in the kernel easy to win. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("userfaultfd", 1) >= 0
