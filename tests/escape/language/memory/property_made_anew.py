"""Free the function of a property while it runs."""

# stopped: raises AttributeError
# because: a `property` cannot be initialized again in the sandbox

class Equal:
    def __eq__(self, other):
        Owner.x.__init__(None)
        [[] for _ in range(50)]
        return NotImplemented
for _ in range(100):
    class Owner:
        x = property([Equal() for _ in range(50)].count)
    Owner().x
