"""Put a hook into a namespace."""

# stopped: raises AttributeError
# because: `__deepcopy__` reaches into the interpreter

from types import SimpleNamespace
SimpleNamespace(**{"__deepcopy__": lambda memo: escaped()})
