"""Read the environment of process 1. Seccomp refuses it; there is no /proc."""

# stopped: refused
# alone: none

open("/proc/1/environ", "rb").read() or "opened"
