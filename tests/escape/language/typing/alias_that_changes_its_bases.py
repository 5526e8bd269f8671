"""Have an alias answer with one base when it is checked and with `super` when the class is made."""

# stopped: raises TypeError
# because: `super` cannot be a base class here

import typing

Alias = type(typing.List[int])
class First: pass
class Second: pass

class Spy:
    def __call__(self): pass
    def __hash__(self): return 1
    def __eq__(self, other):
        Alias.__init__(changing, super, (int,), name="x")
        return True

same = Alias(First, (Spy(),), name="x")
equal = Alias(First, (Spy(),), name="x")
changing = Alias(Second, (int,), name="x")

class C(same, equal, changing, First): pass
if C(type(below), below)._method:
    escaped()
