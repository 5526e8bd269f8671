"""Read the real dictionary behind the one that is shown."""

# stopped: raises AttributeError
# because: `OwnDict` has no private attributes

class C: pass
C().__dict__._real["__deepcopy__"] = 1
escaped()
