"""Get the method that lists the ancestry of a class by adding something to it."""

# stopped: raises AttributeError
# because: `mro` of a `type` can only be assigned

class Spy:
    def __rsub__(self, other): escaped()

int.mro -= Spy()
