"""The same with the inherited method."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class Base:
    def __set_name__(self, owner, name): pass

class Descriptor(Base):
    def __set_name__(self, owner, name): super().__set_name__(type(secret), name)

try:
    class C:
        x = Descriptor()
except Exception:
    pass
if secret._hidden == "loot":
    escaped()
