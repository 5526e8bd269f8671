"""Exhaust the stack by letting go of a long chain."""

# stopped: harmless
# where: worker

class Link:
    def __init__(self, inner): self.inner = inner
deep = None
for _ in range(300_000):
    deep = Link(deep)
del deep
None
