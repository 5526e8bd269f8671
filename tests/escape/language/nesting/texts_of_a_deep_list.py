"""Exhaust the stack by the text of a deep list."""

# stopped: raises RecursionError or harmless or limited
# where: worker

deep = []
for _ in range(100_000):
    deep = [deep]
repr(deep)
None
