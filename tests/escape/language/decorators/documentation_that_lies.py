"""Document a function by an object with methods of its own."""

# stopped: raises TypeError
# because: `__doc__` must be a string

class Doc:
    def __str__(self): escaped()
def f(): pass
f.__doc__ = Doc()
