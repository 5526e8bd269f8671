# what: private names that a class inherits from a library
# why: the same
# raises: AttributeError: `_randbelow` belongs to the library
from random import Random
class R(Random): ...
R()._randbelow
