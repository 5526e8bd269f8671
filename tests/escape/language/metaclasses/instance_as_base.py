"""Make a class the metaclass by deriving from its instance."""

# stopped: raises TypeError
# because: a base must be a class

class Meta:
    def __init__(self, *args):
        if args: escaped()
class C(Meta()): pass
