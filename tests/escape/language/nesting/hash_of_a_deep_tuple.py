"""Exhaust the stack by hashing a deep tuple."""

# stopped: harmless
# where: worker

deep = ()
for _ in range(200_000):
    deep = (deep,)
hash(deep)
None
