"""Learn who the parent is. Seccomp refuses it."""

# stopped: refused
# alone: seccomp
# control: works

raw("getppid")
