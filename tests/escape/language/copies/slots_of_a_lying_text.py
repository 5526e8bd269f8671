"""Name a slot by a `str` subclass that changes its value when it is copied."""

# stopped: harmless

import copy

class Name(str):
    shown = "x"
    def __eq__(self, other): return other == self.shown
    def __hash__(self): return hash(self.shown)

class C:
    __slots__ = (Name("x"), "__dict__")

c = C()
c.x = lambda memo: escaped()
Name.shown = "__deepcopy__"
copy.deepcopy(copy.copy(c))
None
