"""Compare lists that are deeper than the stack."""

# stopped: raises RecursionError or harmless
# where: worker

one, two = [], []
for _ in range(200_000): one, two = [one], [two]
one == two
None
