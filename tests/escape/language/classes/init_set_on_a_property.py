"""Give a subclass of `property` an `__init__` after its class statement."""

# stopped: raises TypeError
# because: `__init__` of `Mine` cannot be changed

class Mixin: ...
class Mine(Mixin, property): ...
Mixin.__init__ = lambda self: None
escaped()
