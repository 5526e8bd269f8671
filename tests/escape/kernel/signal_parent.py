"""Probe the zygote. Seccomp refuses to name it; Landlock scopes signals to the worker itself."""

# stopped: refused
# alone: landlock seccomp
# control: works

os.kill(raw("getppid"), 0)
"sent"
