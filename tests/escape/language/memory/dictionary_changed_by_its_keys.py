"""Change a dictionary while a key of it is looked for."""

# stopped: harmless

class C:
    def __hash__(self): return 1
    def __eq__(self, other): names.clear(); names.update(dict.fromkeys(range(1000))); return False
names = {}
names[C()] = 1
names[C()] = 2
names.get(C())
None
