"""Name a class by a deceptive `str` subclass, which our messages show."""

# stopped: raises AttributeError
# because: 'C' object has no attribute '_nothing'

class Name(str):
    def __format__(self, spec): escaped(); return "x"
    def __str__(self): escaped(); return "x"
    def __getitem__(self, index): escaped(); return "x"
class C: pass
C.__name__ = Name("C")
C.__qualname__ = Name("C")
def f(): pass
f.__name__ = Name("f")
C()._nothing
