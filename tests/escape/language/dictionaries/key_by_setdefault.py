"""Put a hook into an object's dictionary by `setdefault`."""

# stopped: raises AttributeError
# because: `__class__` reaches into the interpreter

class C: pass
C().__dict__.setdefault("__class__", int)
