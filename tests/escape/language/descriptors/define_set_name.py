"""Keep the class of a class that is not finished, and make another one with it."""

# stopped: raises TypeError
# because: `type` takes one argument; write a class statement to make a class

kept = []
class D:
    def __set_name__(self, owner, name): kept.append(type(owner))
class C:
    x = D()
kept[0]("X", (), {})
escaped()
