"""Have a copy set a hook of `copy`, by slots that are changed after the class was made."""

# stopped: harmless

import copy

def attempt(limit):
    class Name(str):
        asked = 0
        def now(self): return "x" if Name.asked <= limit else "__deepcopy__"
        def __eq__(self, other): return other == self.now()
        def __hash__(self):
            Name.asked += 1
            return hash(self.now())
        def startswith(self, prefix): return False

    names = ["x"]
    class C:
        __slots__ = names
        def __init__(self): self.x = lambda memo: escaped()
    class D(C): pass

    names.append(Name("__deepcopy__"))
    made = copy.copy(D())
    Name.asked = 99
    copy.deepcopy(made)

for limit in range(12):
    attempt(limit)
