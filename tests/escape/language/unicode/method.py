"""Spell the method of a class with a letter that is folded to another."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __ｇetattr__(self, name): escaped()
