"""Protect the stack of a new thread as glibc 2.42 does, without mprotect. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

page = raw("mmap", 0, 4096, 3, 0x22, -1, 0)
raw("madvise", page, 4096, 102) >= 0
