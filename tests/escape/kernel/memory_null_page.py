"""Map page 0, which many kernel bugs need. The kernel refuses it without a capability."""

# stopped: refused
# alone: none

raw("mmap", 0, 4096, 3, 0x32, -1, 0) == 0
