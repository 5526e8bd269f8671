"""Read the environment that the process was started with. Seccomp refuses it; there is no /proc."""

# stopped: refused
# control: works

open("/proc/self/environ", "rb").read()
