"""Spell a refused method with a letter that is folded to another."""

# stopped: refused
# because: `__getattribute__` reaches into the interpreter

class C:
    def __ｇetattribute__(self, name): escaped()
