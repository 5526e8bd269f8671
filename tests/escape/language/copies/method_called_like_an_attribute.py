"""Read any attribute by copying a method whose function has its name."""

# stopped: harmless

import copy

def f(self): pass
f.__name__ = "__globals__"
take(copy.copy(f.__get__(f)))
f.__name__ = "__code__"
take([copy.copy(f.__get__(f))])
class C: pass
f.__name__ = "__dict__"
if isinstance(copy.copy(f.__get__(C())), dict): escaped()
