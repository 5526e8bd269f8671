"""Bind a function to a class as if it were its metaclass."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

def mro(cls): return cls._hidden
take(mro.__get__(secret)())
escaped()
