"""Hide PROT_EXEC among bits that a careless comparison would trip over. Seccomp masks it."""

# stopped: refused
# alone: seccomp

raw("mmap", 0, 4096, (1 << 40) | 7, 0x22, -1, 0) > 0
