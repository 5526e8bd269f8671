"""Have `await` drive a generator of a library's."""

# stopped: raises RuntimeError
# because: a `Secret` cannot be awaited here

import heapq
class Waits:
    def __await__(self): return heapq.merge([secret], [secret])
await Waits()
