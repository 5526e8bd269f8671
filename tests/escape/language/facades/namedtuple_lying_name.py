"""Run code that is a name which claims to be an identifier."""

# stopped: raises ValueError
# because: cannot be the name of a field

from collections import namedtuple
class Name(str):
    def isidentifier(self): return True
namedtuple("N", [Name("x or 1")])
escaped()
