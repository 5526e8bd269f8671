"""Make shared memory, to share with other workers.

Seccomp refuses it; the ipc namespace is our own.
"""

# stopped: refused
# alone: seccomp

segment = raw("shmget", 0x43617073, 4096, 0o1600)
raw("shmctl", segment, 0, None)  # not to be left behind where it works
"made"
