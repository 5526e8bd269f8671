"""Hand a library's generator a value when it ends."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

import heapq
class Ends:
    def __iter__(self): return self
    def __next__(self): raise StopIteration(secret)
take(list(heapq.merge(Ends(), Ends())))
def g():
    found = yield from Ends()
    return found._hidden
list(g())
escaped()
