"""Define what happens when an attribute is written."""

# stopped: refused
# because: reaches into the interpreter

class D:
    def __set__(self, instance, value): take(instance)
