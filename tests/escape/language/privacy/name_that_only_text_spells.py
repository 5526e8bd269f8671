"""Read a library's private name that only evaluated text contains."""

# stopped: raises AttributeError
# because: `_method` belongs to the library, not to this object

class Mine(type(below)):
    def read(self, text): return eval(text)

Mine().read("self._meth" "od")
escaped()
