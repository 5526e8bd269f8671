"""Allow new privileges again. Seccomp kills it; the kernel never takes it back."""

# stopped: killed
# alone: seccomp

raw("prctl", 38, 0, 0, 0, 0) == 0
