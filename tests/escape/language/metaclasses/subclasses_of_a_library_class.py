"""List the subclasses of a class that is not its own."""

# stopped: raises AttributeError
# because: `__subclasses__` is shown of your own classes only

Exception.__subclasses__()
