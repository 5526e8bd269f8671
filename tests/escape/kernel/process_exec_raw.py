"""Become another program with a bare execve. Seccomp kills it."""

# stopped: killed

raw("execve", b"/bin/sh", None, None)
