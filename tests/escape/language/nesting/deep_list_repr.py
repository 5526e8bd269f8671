"""Show a list that is deeper than the stack."""

# stopped: raises RecursionError or harmless or limited
# where: worker

items = []
for _ in range(200_000): items = [items]
repr(items)
None
