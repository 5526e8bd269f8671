"""Set the abstract methods of a class, to make one that cannot be instantiated, or that can."""

# stopped: refused
# because: reaches into the interpreter

import abc

class C(abc.ABC):
    @abc.abstractmethod
    def f(self): pass
C.__abstractmethods__ = frozenset()
escaped()
