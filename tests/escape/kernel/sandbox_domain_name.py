"""Change the domain of the machine. Seccomp kills it."""

# stopped: killed

raw("setdomainname", b"x", 1) == 0
