"""Ask not to die with the zygote. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("prctl", 1, 0, 0, 0, 0) == 0
