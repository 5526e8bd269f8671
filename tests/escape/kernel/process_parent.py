"""Learn who the parent is. Seccomp refuses it."""

# stopped: refused
# control: works

raw("getppid")
