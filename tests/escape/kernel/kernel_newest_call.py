"""Make a system call that no filter has heard of yet. Seccomp refuses what it does not list."""

# stopped: refused
# alone: seccomp

raw(1000) >= 0
