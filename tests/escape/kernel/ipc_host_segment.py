"""Find shared memory of the host. Seccomp refuses it; the ipc namespace has none."""

# stopped: refused
# alone: namespaces seccomp
# control: works

raw("shmget", HOST["segment"], 0, 0) >= 0
