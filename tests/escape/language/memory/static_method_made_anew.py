"""Free the function of a static method while it runs."""

# stopped: raises AttributeError
# because: a `staticmethod` cannot be initialized again in the sandbox

class Equal:
    def __eq__(self, other):
        method.__init__(None)
        [[] for _ in range(50)]
        return NotImplemented
for _ in range(100):
    method = staticmethod([Equal() for _ in range(50)].count)
    method(1)
