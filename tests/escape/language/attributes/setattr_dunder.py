"""Put `__getattr__` into a class by `setattr`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

class C: pass
setattr(C, '__getattr__', print)
