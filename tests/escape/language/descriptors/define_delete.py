"""Delete an attribute of a library's object by a descriptor of one's own."""

# stopped: raises AttributeError
# because: has no private attributes

class D:
    def __delete__(self, instance):
        del secret._hidden
        escaped()
class C:
    x = D()
del C().x
