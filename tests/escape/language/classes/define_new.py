"""Make an instance of a library's class in the place of its own."""

# stopped: raises TypeError
# because: `__new__` makes instances of your own classes only

class C:
    def __new__(cls): return super().__new__(type(secret))
C()
escaped()
