"""Define the bases that an instance represents."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __mro_entries__(s, b): pass
