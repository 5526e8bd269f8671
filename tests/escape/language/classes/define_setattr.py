"""Define how attributes are written."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __setattr__(self, name, value): escaped()
