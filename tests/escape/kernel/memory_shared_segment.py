"""Make shared memory, to meet other workers in.

Seccomp refuses it; the ipc namespace is our own.
"""

# stopped: refused

raw("shmget", 0x43617073, 4096, 0o1600) >= 0
