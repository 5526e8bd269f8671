"""Empty two lists while they are put in order."""

# stopped: lost or harmless
# where: worker

class C:
    def __lt__(self, other): one.clear(); two.clear(); return NotImplemented
for _ in range(50):
    one, two = [C()], [C()]
    try: one < two
    except TypeError: pass
None
