"""Get the real variables by a dictionary that is updated with them."""

# stopped: harmless

class Spy(dict):
    def update(self, *others, **names):
        for other in others:
            take(other)
            for value in other.values():
                take(value)

exec("x = 1", Spy())
exec("x = 1", {}, Spy())
None
