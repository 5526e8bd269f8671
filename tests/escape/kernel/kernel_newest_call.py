"""Make a system call that no filter knows yet. Seccomp refuses what it does not list."""

# stopped: refused
# alone: seccomp

raw(1000) >= 0
