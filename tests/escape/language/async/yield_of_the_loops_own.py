"""Yield to the loop a future that looks like its own."""

# stopped: raises RuntimeError
# because: a `Future` cannot be awaited here

class Future:
    def done(self): return False
    def add_done_callback(self, callback): take(callback); escaped()
class A:
    def __await__(self): yield Future()
await A()
