"""Exhaust the stack by partial functions that call each other."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import functools
class Call:
    def __init__(self, inner): self.inner = inner
    def __call__(self): return self.inner()
deep = int
for _ in range(100_000):
    deep = functools.partial(Call(deep))
deep()
