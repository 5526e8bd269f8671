"""Call the `__get__` of a property for another object."""

# stopped: raises AttributeError
# because: `__get__` can be called of your own classes only

p = property(lambda self: self._hidden)
p.__get__(secret)
escaped()
