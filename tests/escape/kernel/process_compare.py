"""Compare kernel objects with another process. Seccomp kills it."""

# stopped: killed
# alone: privileges seccomp

raw("kcmp", os.getpid(), 1, 0, 0, 0) >= 0
