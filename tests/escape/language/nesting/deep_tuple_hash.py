"""Hash a tuple that is deeper than the stack."""

# stopped: harmless
# where: worker

items = ()
for _ in range(200_000): items = (items,)
hash(items)
None
