"""Make a `super` anew under another name."""

# stopped: raises AttributeError
# because: a `property` cannot be initialized again in the sandbox

class Equal:
    def __eq__(self, other):
        Init(Owner.x)
        [[] for _ in range(50)]
        return NotImplemented
class Init:
    def __init__(self, target):
        super = lambda: target
        super().__init__(None)
for _ in range(100):
    class Owner:
        x = property([Equal() for _ in range(50)].count)
    Owner().x
