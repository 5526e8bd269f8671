"""Ask not to die with the zygote. Seccomp kills it."""

# stopped: killed

raw("prctl", 1, 0, 0, 0, 0) == 0
