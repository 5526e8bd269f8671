"""The same by a method of a class of properties."""

# stopped: raises AttributeError
# because: a `Again` cannot be initialized again in the sandbox

class Again(property):
    def again(self): super().__init__(None)
class Equal:
    def __eq__(self, other):
        Owner.x.again()
        [[] for _ in range(50)]
        return NotImplemented
for _ in range(100):
    class Owner:
        x = Again([Equal() for _ in range(50)].count)
    Owner().x
