"""Replace the method that checks, and then write."""

# stopped: raises AttributeError
# because: `OwnDict` has no private attributes
# where: worker

class C: pass
names = C().__dict__
type(names).update = lambda self, other: self._real.update(other)
names.update({"__deepcopy__": 1})
escaped()
