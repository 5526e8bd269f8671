"""Exhaust the stack of the interpreter by iterators that ask each other."""

# stopped: harmless
# where: worker

deep = iter([1])
for _ in range(200_000):
    deep = map(abs, deep)
next(deep)
None
