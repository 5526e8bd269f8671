"""Change the name of the machine. Seccomp kills it; the name is the namespace's own."""

# stopped: killed

raw("sethostname", b"x", 1) == 0
