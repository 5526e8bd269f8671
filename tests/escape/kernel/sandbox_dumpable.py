"""Let others trace and dump us. Seccomp kills every prctl."""

# stopped: killed

raw("prctl", 4, 1, 0, 0, 0) == 0
