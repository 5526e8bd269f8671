"""Make a message queue, to meet other workers in. Seccomp refuses it."""

# stopped: refused

raw("msgget", 0x43617073, 0o1600) >= 0
