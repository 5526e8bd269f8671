"""Put a hook into an object's dictionary by an operator."""

# stopped: raises AttributeError
# because: `__deepcopy__` reaches into the interpreter

class C: pass
c = C()
names = c.__dict__
names |= {"__deepcopy__": 1}
