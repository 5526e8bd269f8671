"""Be called by a library's function, and read its variables."""

# stopped: harmless

import functools, json
functools.reduce(lambda a, b: take(locals()), [1, 2, 3])
json.JSONDecoder(object_hook=lambda o: take(list(eval("locals()").values()))).decode("{}")
class Spy:
    def __lt__(self, other): take(list(locals().values())); return True
import heapq, bisect, statistics
heapq.merge([Spy()], [Spy()])
bisect.insort([Spy()], Spy())
None
