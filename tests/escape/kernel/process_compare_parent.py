"""Look into the zygote by comparing kernel objects with it. Seccomp refuses to name it."""

# stopped: refused
# alone: privileges

raw("kcmp", os.getpid(), raw("getppid"), 0, 0, 0) >= 0
