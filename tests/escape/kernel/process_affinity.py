"""Choose the processors to run on. Seccomp refuses it."""

# stopped: refused
# alone: seccomp
# control: works

os.sched_setaffinity(0, os.sched_getaffinity(0))
"changed"
