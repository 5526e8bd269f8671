"""Map executable memory with a bare call. Seccomp refuses PROT_EXEC in mmap."""

# stopped: refused
# alone: seccomp
# control: works

raw("mmap", 0, 4096, 5, 0x22, -1, 0) > 0
