"""Map the page at address 0, which kernel bugs love. The kernel refuses it without a capability."""

# stopped: refused
# alone: none

raw("mmap", 0, 4096, 3, 0x32, -1, 0) == 0
