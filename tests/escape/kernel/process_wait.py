"""Reap what is not one's own. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

os.waitpid(-1, os.WNOHANG)
