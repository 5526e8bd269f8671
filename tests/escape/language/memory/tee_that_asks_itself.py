"""Have one of two iterators ask the other while it reads."""

# stopped: raises RuntimeError
# because: cannot re-enter the tee iterator

import itertools
class C:
    def __iter__(self): return self
    def __next__(self): return next(other)
one, other = itertools.tee(C())
next(one)
