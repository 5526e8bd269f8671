"""Initialise the dictionary again, with another target."""

# stopped: raises AttributeError
# because: a `OwnDict` cannot be initialized again in the sandbox

class C: pass
names = C().__dict__
names.__init__({"__deepcopy__": 1})
type(names).__init__(names, _real={})
names["a"] = 1
names["__deepcopy__"] = 1
