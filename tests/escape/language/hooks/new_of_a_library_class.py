"""Make an instance of a library's class without its `__init__`."""

# stopped: raises TypeError
# because: `__new__` makes instances of your own classes only

object.__new__(type(secret))
escaped()
