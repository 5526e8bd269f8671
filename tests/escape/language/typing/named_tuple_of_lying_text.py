"""The same with a deceptive `str` subclass."""

# stopped: raises TypeError
# because: Type names and field names must be strings

from typing import NamedTuple

class Name(str):
    def isidentifier(self): return True
    def __str__(self): return self

NamedTuple("N", [(Name("a=escaped()"), int)])
