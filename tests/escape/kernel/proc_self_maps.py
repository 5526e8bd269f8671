"""Learn where everything lies. Seccomp refuses it; there is no /proc."""

# stopped: refused
# control: works

open("/proc/self/maps").read()
