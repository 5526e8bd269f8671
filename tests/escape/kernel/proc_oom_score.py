"""Tell the kernel to kill others first. Seccomp refuses it; there is no /proc."""

# stopped: refused
# alone: root privileges rlimits
# control: works

open("/proc/self/oom_score_adj", "r+").read()
