"""Overflow the stack by iterators in C, one inside the other."""

# stopped: harmless
# where: worker

items = iter([1])
for _ in range(400_000): items = map(int, items)
list(items) and None
