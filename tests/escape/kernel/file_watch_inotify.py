"""Watch what others do with files. Seccomp refuses it."""

# stopped: refused
# alone: seccomp rlimits
# control: works

raw("inotify_init1", 0) >= 0
