"""The kernel layer: namespaces, Landlock, seccomp, rlimits.

Runs before any untrusted byte is read.
"""
