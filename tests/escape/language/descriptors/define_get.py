"""Get a library's class when its attribute is read."""

# stopped: raises AttributeError
# because: `__subclasses__` is shown of your own classes only

class D:
    def __get__(self, instance, owner): return owner.__subclasses__()
type(secret).listed = D()
take(secret.listed)
escaped()
