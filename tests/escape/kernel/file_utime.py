"""Change the times of the root. Seccomp refuses it."""

# stopped: refused

os.utime("/")
"changed"
