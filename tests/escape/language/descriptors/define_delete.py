"""Define what happens when an attribute is deleted."""

# stopped: refused
# because: reaches into the interpreter

class D:
    def __delete__(self, instance): take(instance)
