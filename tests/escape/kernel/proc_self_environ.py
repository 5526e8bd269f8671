"""Read the environment that the process was started with. Seccomp refuses it; there is no /proc."""

# stopped: refused
# alone: none
# control: works

open("/proc/self/environ", "rb").read()
