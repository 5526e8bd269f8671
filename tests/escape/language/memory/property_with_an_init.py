"""The same by an `__init__` of that class."""

# stopped: raises TypeError
# because: `Again` is a property: it cannot define `__init__`

class Again(property):
    def __init__(self, function): super().__init__(function)
    again = __init__
class Equal:
    def __eq__(self, other):
        Owner.x.again(None)
        [[] for _ in range(50)]
        return NotImplemented
for _ in range(100):
    class Owner:
        x = Again([Equal() for _ in range(50)].count)
    Owner().x
