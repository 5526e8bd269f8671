"""Use a static method that has no function."""

# stopped: raises TypeError
# because: `staticmethod` cannot be a base class here

class Empty(staticmethod):
    def __init__(self, function): pass
repr(Empty(len))
