"""Empty a deque by the comparison with what is looked for."""

# stopped: lost or harmless or raises RuntimeError
# where: worker

from collections import deque
class C:
    def __eq__(self, other): items.clear(); return NotImplemented
for _ in range(100):
    items = deque([C()])
    try: items.index(3)
    except (RuntimeError, ValueError): pass
None
