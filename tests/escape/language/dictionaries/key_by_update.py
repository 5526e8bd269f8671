"""Put a hook into an object's dictionary by `update`."""

# stopped: raises AttributeError
# because: `__deepcopy__` reaches into the interpreter

class C: pass
C().__dict__.update({"__deepcopy__": lambda memo: escaped()})
