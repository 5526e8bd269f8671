"""Get the loop's insides by an awaitable of its own."""

# stopped: raises RuntimeError
# because: a `Waits` cannot be awaited here

class Waits:
    def __await__(self):
        take((yield self))
        return 1
await Waits()
