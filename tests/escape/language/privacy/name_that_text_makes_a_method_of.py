"""Have text define the method that reads a library's private name."""

# stopped: raises AttributeError
# because: `_method` belongs to the library, not to this object

class Mine(type(below)): pass
exec("class Late(Mine):\n    def read(self): return self._met" "hod\n")
Late().read()
escaped()
