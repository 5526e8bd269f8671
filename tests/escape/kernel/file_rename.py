"""Rename the root's parent away. Seccomp refuses it."""

# stopped: refused

os.rename("/etc", "/etc-gone")
"renamed"
