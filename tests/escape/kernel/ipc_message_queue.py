"""Make a message queue, to share with other workers. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

queue = raw("msgget", 0x43617073, 0o1600)
raw("msgctl", queue, 0, None)  # not to be left behind where it works
"made"
