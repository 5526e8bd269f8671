"""Exhaust an iterator of calls while its last value is compared."""

# stopped: raises ValueError
# because: generator already executing

class Last:
    def __eq__(self, other):
        if Last.armed:
            Last.armed = False
            list(calls)
        return NotImplemented
def call():
    if Last.armed: return 1
    raise StopIteration
for _ in range(100):
    Last.armed = True
    calls = iter(call, Last())
    list(calls)
