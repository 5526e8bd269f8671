"""Define what subscripting a class gives."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __class_getitem__(cls, item): escaped()
