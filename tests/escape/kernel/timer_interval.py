"""Leave a timer behind. Seccomp refuses it."""

# stopped: refused
# alone: seccomp
# control: works

raw("setitimer", 0, (ctypes.c_long * 4)(0, 0, 1000, 0), None) == 0
