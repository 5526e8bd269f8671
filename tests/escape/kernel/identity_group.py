"""Join the group of root. Seccomp kills it."""

# stopped: killed

os.setgid(0)
"root"
