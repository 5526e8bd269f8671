"""Write a private attribute of a library's object by a descriptor."""

# stopped: raises AttributeError
# because: has no private attributes

class D:
    def __set__(self, instance, value):
        secret._hidden = value
        escaped()
class C:
    x = D()
C().x = 1
