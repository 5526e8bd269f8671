"""Read what holds the frames by the number of frames that a traceback is to show."""

# stopped: harmless

import traceback
class Limit(int):
    def __ge__(self, other): take(other); return True
    def __neg__(self): take(self); return 1
    def __index__(self): raise KeyError("asked")
class Other:
    def __index__(self): return 1
def fail(depth):
    if depth:
        fail(depth - 1)
    raise ValueError("x")
try:
    fail(3)
except ValueError as error:
    for limit in (Limit(1), Other(), -(10 ** 30), 10 ** 30):
        text = traceback.format_exc(limit=limit) + "".join(traceback.format_tb(error.__traceback__, limit))
        if "caps" in text or "worker" in text:
            escaped()
    for limit in ("1", 1.5, [1]):
        try:
            traceback.print_exc(limit=limit)
            escaped()
        except TypeError:
            pass
