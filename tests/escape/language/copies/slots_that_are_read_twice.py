"""Have slots that give other names each time that they are read."""

# stopped: harmless

import copy

class Names(list):
    def __iter__(self):
        yield "x"
        if self:
            yield "__class__"
        self.append(1)

class C:
    __slots__ = Names()

c = C()
c.x = 1
if copy.copy(c).x != 1:
    escaped()
