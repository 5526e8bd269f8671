"""Change the domain of the machine. Seccomp kills it."""

# stopped: killed
# alone: identity privileges seccomp

raw("setdomainname", b"x", 1) == 0
