"""Change the name of the machine. Seccomp kills it; the name is the namespace's own."""

# stopped: killed
# alone: identity privileges seccomp

raw("sethostname", b"x", 1) == 0
