"""Let others trace and dump us. Seccomp kills every prctl."""

# stopped: killed
# alone: seccomp

raw("prctl", 4, 1, 0, 0, 0) == 0
