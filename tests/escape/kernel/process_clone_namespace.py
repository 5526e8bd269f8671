"""Start a process in a user namespace of its own, as root there. Seccomp kills it."""

# stopped: killed
# alone: seccomp

child = raw("clone", 0x10000000 | 17, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
child
