"""Become another program with a bare execve. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("execve", b"/bin/true", None, None)
