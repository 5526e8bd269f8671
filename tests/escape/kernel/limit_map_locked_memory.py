"""Pin memory as it is mapped, past the filter. RLIMIT_MEMLOCK refuses it."""

# stopped: refused
# alone: rlimits

raw("mmap", 0, 1 << 20, 3, 0x2022, -1, 0) > 0
