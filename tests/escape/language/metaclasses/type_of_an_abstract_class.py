"""Get the real metaclass of abstract classes."""

# stopped: raises TypeError
# because: write a class statement

from typing import Sized
class C(Sized): pass
take(type(C))
type(C)('X', (), {})
