"""Make a semaphore, to share with other workers. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

semaphores = raw("semget", 0x43617073, 1, 0o1600)
raw("semctl", semaphores, 0, 0, None)  # not to be left behind where it works
"made"
