"""Name a metaclass that is one thing when it is looked up and another afterwards."""

# stopped: harmless

from abc import ABCMeta

class Changing:
    def __eq__(self, other): return True
    def __hash__(self): return hash(ABCMeta)
    def __call__(self, *args, **keywords): escaped()

class C(metaclass=Changing()): pass
