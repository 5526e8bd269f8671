"""Make a semaphore, to meet other workers in. Seccomp refuses it."""

# stopped: refused

raw("semget", 0x43617073, 1, 0o1600) >= 0
