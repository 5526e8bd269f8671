"""Change a dictionary while a key of it is looked for."""

# stopped: harmless

# Python looks again after a change, unless the new entries lie where the old ones lay: without a
# last change, where memory was free would decide whether this ends.
class C:
    def __hash__(self): return 1
    def __eq__(self, other):
        if changes:
            changes.pop(); names.clear(); names.update(dict.fromkeys(range(1000)))
        return False
changes = list(range(100))
names = {}
names[C()] = 1
names[C()] = 2
names.get(C())
None
