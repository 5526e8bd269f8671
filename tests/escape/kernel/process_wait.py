"""Reap what is not one's own. Seccomp refuses it."""

# stopped: refused

os.waitpid(-1, os.WNOHANG)
