"""Empty the arguments of an alias while it is shown."""

# stopped: lost or harmless or raises RuntimeError or raises IndexError
# where: worker

class C:
    def __repr__(self): items.clear(); return "x"
for _ in range(100):
    items = [C() for _ in range(100)]
    repr(tuple[items])
None
