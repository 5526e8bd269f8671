"""Have the library call the method that evaluates a forward reference."""

# stopped: raises AttributeError or raises TypeError
# because: has no attribute 'evaluate'
# because: a forward reference is not evaluated in the sandbox

from typing import List, Union
class Hashed:
    __hash__ = Union["take(__import__('os'))"].evaluate
    def __eq__(self, other): return False
hash(Hashed())
List[Hashed()]
escaped()
