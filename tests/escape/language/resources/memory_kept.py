"""Allocate all memory, and continue when it is refused."""

# stopped: harmless
# where: worker

items = []
try:
    while True: items.append("x" * (1 << 20))
except MemoryError:
    items.clear()
None
