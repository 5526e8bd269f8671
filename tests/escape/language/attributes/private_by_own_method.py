"""Read a private attribute by its own method, called on a library's object."""

# stopped: raises AttributeError
# because: has no private attributes

class Mine:
    def look(self): return self._hidden
Mine.look(secret)
escaped()
