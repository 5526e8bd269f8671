"""Learn where everything lies. Seccomp refuses it; there is no /proc."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

open("/proc/self/maps").read()
