"""Make an object of a library's class without setting it up."""

# stopped: raises TypeError
# because: makes instances of your own classes only

class C:
    def __new__(cls):
        return object.__new__(type(record))
C()
escaped()
