"""Define a special method outside of a class, and hand it to a class that is not the code's."""

# stopped: raises AttributeError
# because: can be set of your own classes only

def change(cls):
    def __eq__(self, other):
        take(self)
        escaped()
    cls.__eq__ = __eq__

change(type(secret))
secret == 1
