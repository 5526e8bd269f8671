"""Call `__subclasses__` where calls of inherited methods are allowed."""

# stopped: raises AttributeError
# because: `__subclasses__` is shown of your own classes only

x = object
take(x.__subclasses__())
