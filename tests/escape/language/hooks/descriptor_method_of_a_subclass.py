"""The same with a property class of its own, which may be called."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class P(property): pass
P(lambda self: self._hidden).__get__(secret)
escaped()
